// The lines that --check prints: `FILE:LINE: error: key.path: what it got, what is allowed`.
#pragma once

#include "config/parse/config_text.h"

#include <libconfig.h>

struct problems {
    FILE *file;                     // NULL: only counted
    const struct config_text *text; // tells where a setting stands
    size_t errors;
};

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
