// The lines that --check prints: `FILE:LINE: error: key.path: what it got, what is allowed`, in the
// order of the file's lines.
//
// Keys are read first, and then checked against each other. What the second finds in a group that
// has an error of the first may only follow from that error, and is left out: a source that is
// misspelt makes every key of the right one look wrong. Only names are told in any case.
#pragma once

#include "config/parse/config_text.h"

#include <libconfig.h>

struct problem {
    const config_setting_t *group; // that it is in; NULL for a warning
    unsigned line;                 // of the expanded text
    long offset;                   // in `written`
};

struct problems {
    FILE *file; // takes what is written; NULL: only counted
    char *written;
    size_t written_length;
    struct problem *list;
    size_t count, capacity;
    bool is_checking;               // all keys are read
    size_t read;                    // how many of the list were found until then
    bool is_incomplete;             // there was no memory for some
    bool is_left_out;               // the line that is being written
    const struct config_text *text; // tells where a setting stands
    size_t errors;
};

// Begins with the errors of `text`. Without `text->problems`, problems are only counted.
void problems_init(struct problems *problems, const struct config_text *text);
// Writes all lines to `text->problems`. -ENOMEM: some are lost.
int problems_finish(struct problems *problems);
// From here on keys are checked against each other.
void problems_begin_checks(struct problems *problems);

// Opens the line for `setting`, or for its missing member `key` when that is not NULL, counts it
// and writes all up to "key.path: ". The caller writes the sentence to the stream it gets, unless
// that is NULL, and calls problems_end().
FILE *problems_begin(struct problems *problems, const config_setting_t *setting, const char *key);
void problems_end(struct problems *problems);

// A whole line. Warnings are not counted.
void problems_error(struct problems *problems, const config_setting_t *setting, const char *key,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));
// Opens a warning like problems_begin().
FILE *problems_begin_warning(struct problems *problems, const config_setting_t *setting);
