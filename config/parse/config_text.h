// The text of a configuration with every @include expanded, and where each of its lines came from.
//
// libconfig could include files by itself, but its scanner ends the process on a read error (a
// directory is enough), so it only ever sees text.
#pragma once

#include "config/base.h"
#include "config/parse/config_scan.h"
#include "config/problems.h"

#include <stdbool.h>
#include <stddef.h>

struct config_line {
    const char *file; // owned by the text
    unsigned line;    // from 1
};

struct config_text {
    char *text; // for libconfig; ends in NUL
    size_t length, capacity;
    char *written; // the same lines as they stand in the files
    size_t written_length, written_capacity;
    bool is_file;              // read from disk
    struct config_line *lines; // lines[0] is the first line of `text`
    size_t line_count, line_capacity;
    char **files;
    size_t file_count;
    int64_t changed_ns;               // when the newest of them was, since 1970; 0: none was read
    struct config_problems *problems; // borrowed
    enum config_scan_state state;
    bool in_array;
    struct config_line opened; // where the string or comment that `state` is in began
};

// Reads `path`, or takes `text` that is called `name`, into a zeroed `target` whose `problems` is
// set. A missing include, an include of something unreadable, a byte 0 and what a file opens and
// never closes are added as problems; a main file that cannot be read, includes more than 8 deep
// (-EMLINK), more than 4 MiB in all (-EFBIG) and -ENOMEM end the reading and are added, too.
int config_text_read(struct config_text *target, const char *path);
int config_text_take(struct config_text *target, const char *text, const char *name);
// Adds an error at a place.
void config_text_refuse(const struct config_text *text, struct config_line place,
                        const char *format, ...) __attribute__((format(printf, 3, 4)));
void config_text_finish(struct config_text *text);

// Line `line` (from 1) of the expanded text as it stands in its file, without its newline, to be
// freed by the caller; NULL without memory.
char *config_text_copy_line(const struct config_text *text, unsigned line);
// Where line `line` (from 1) of the expanded text came from. A number past the end is the last.
struct config_line config_text_origin(const struct config_text *text, unsigned line);
