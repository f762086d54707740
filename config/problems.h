// The problems of a configuration, in their parts: place in a file, key, sentence. A problem
// becomes a line, `FILE:LINE: error: key.path: what it got, what is allowed`, only where a person
// reads it.
#pragma once

#include "config/base.h"

#include <stdbool.h>
#include <stdio.h>

struct config_problem {
    char *file;       // that it stands in; NULL: none
    unsigned line;    // of the file, from 1; 0: none
    char *path;       // of the key: "cameras[0].fps", of a setting by names; NULL: none
    char *sentence;   // "got …, allowed: …"
    unsigned allowed; // where in the sentence that begins what is allowed; 0: it does not say
    unsigned order;   // the line of the text with all that it includes
    size_t number;    // how many were added before
    bool is_error;    // else a warning
    bool is_setting;  // of a setting over the file, which has no place
};

// Starts out as {0}; all owned.
struct config_problems {
    struct config_problem *list;
    size_t count, capacity;
    size_t errors;      // of the list
    bool is_incomplete; // there was no memory for some
};

// Adds a problem and takes over its strings. A NULL sentence means that there was no memory for it.
void config_problems_add(struct config_problems *problems, const struct config_problem *problem);
// Adds a warning about the setting over the file at a path.
void config_problems_warn_setting(struct config_problems *problems, const char *path,
                                  const char *format, ...) __attribute__((format(printf, 3, 4)));
// Adds a problem of a whole file, NULL: of none.
void config_problems_tell(struct config_problems *problems, bool is_error, const char *file,
                          const char *format, ...) __attribute__((format(printf, 4, 5)));
// Puts all but the first `kept` problems into the order of their lines, those of one line in the
// order in which they were added.
void config_problems_sort(struct config_problems *problems, size_t kept);
// The first error, with `of_setting` of a setting over the file; NULL: there is none.
const struct config_problem *config_problems_first_error(const struct config_problems *problems,
                                                         bool of_setting);

// Sets "KEY: SENTENCE" of the first error, or what `code` means where there is none; yields `code`.
int config_problems_refuse(const struct config_problems *problems, int code, struct error *error);

// The problem as a line for people, without a newline; the caller frees it. NULL: no memory.
char *config_problem_line(const struct config_problem *problem);
// Writes every problem as a line.
void config_problems_print(const struct config_problems *problems, FILE *file);
void config_problems_finish(struct config_problems *problems);
