// The check of a configuration on its way from a text: which keys the text sets, at which lines,
// and what is wrong with them. Keys are called by their paths: "cameras[0].views[1].gain".
//
// Keys are read first, and then checked against each other. An error of the second step in a group
// that has one of the first may only follow from that one, and is left out: a source that is
// misspelt makes every key of the right one look wrong. Only names are told in any case.
#pragma once

#include "config/parse/config_text.h"
#include "config/problems.h"

// A key, a group or an element of a list that is set.
struct validation_origin {
    char *path;           // owned
    unsigned line;        // of the expanded text
    const char *override; // path of the setting over the file that sets it, borrowed; NULL: none
};

struct validation {
    const struct config_text *text;   // borrowed
    struct config_problems *problems; // borrowed; takes those that are found
    struct validation_origin *origins;
    size_t count, capacity;
    const struct validation *file; // of the loaded file that settings lie over, borrowed; or NULL
    char **removed;                // elements of the file that settings take away; owned
    size_t removed_count;
    bool is_read;     // the origins are sorted by their paths
    bool is_checking; // keys are checked against each other
    size_t read;      // how many of the problems were found before
};

// Notes that a key or an element is set, inside of `outer` ("": outermost): the key `name`, or the
// element `index` if that is NULL. Its path, until validation_finish(); NULL: no memory.
const char *validation_note(struct validation *validation, const char *outer, const char *name,
                            size_t index, unsigned line);
// Notes that the setting `override` sets `path`, whether the file does so or not. -ENOMEM.
int validation_note_override(struct validation *validation, const char *path, const char *override);
// Notes that a setting takes an element away. Elements behind it keep their paths. -ENOMEM.
int validation_note_removal(struct validation *validation, const char *element);
// All keys are read.
void validation_end_reading(struct validation *validation);
// From here on keys are checked against each other.
void validation_begin_checks(struct validation *validation);
void validation_finish(struct validation *validation);

// Whether a path is set, be its value refused or not.
bool validation_has(const struct validation *validation, const char *path);
// Whether what a path is set to was refused when it was read.
bool validation_has_refused(const struct validation *validation, const char *path);
// The line that sets a path; its number is 0 if none does.
struct config_line validation_line(const struct validation *validation, const char *path);
// The file that sets a path, or what it is inside of.
const char *validation_file(const struct validation *validation, const char *path);

// Adds an error at a path; the line of one that is not set is that of what it is inside of.
void validation_error(struct validation *validation, const char *path, const struct error *error);
// The same of two literals: "GOT allowed: ALLOWED", see error_refuse().
#define validation_refuse(validation, path, got, may_be, ...)                                      \
    validation_tell(validation, true, path, got, got " allowed: " may_be, ##__VA_ARGS__)
#define validation_warn(validation, path, ...)                                                     \
    validation_tell(validation, false, path, NULL, __VA_ARGS__)
// The function behind the macros; with `got` NULL the sentence does not say what is allowed.
void validation_tell(struct validation *validation, bool is_error, const char *path,
                     const char *got, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

// A path inside of another: the key `name` of a group, or an element of a list as it is now.
#define VALIDATION_PATH_SIZE 256
struct validation_path {
    char text[VALIDATION_PATH_SIZE];
};
struct validation_path validation_key(const char *group, const char *name);
struct validation_path validation_element(const struct validation *validation, const char *list,
                                          size_t index);

// Refuses elements of the list `key` inside of `base` that have the name of another. Elements are
// structs of `size` bytes that begin with their name.
void validation_check_names(struct validation *validation, const char *base, const char *key,
                            const void *elements, size_t count, size_t size);
