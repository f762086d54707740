// Just enough of libconfig's scanner to know code from strings and comments in a line.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Where a position in the text is; carried from line to line, at first 0.
enum config_scan_state { CONFIG_SCAN_CODE, CONFIG_SCAN_STRING, CONFIG_SCAN_BLOCK_COMMENT };

// The length of the byte order mark that some editors begin a file with, and that libconfig takes
// for a syntax error; else 0.
size_t config_scan_mark(const char *text, size_t length);
// Yields how many of the `length` (at least 1) bytes of `line` belong together: a word (name or
// number), a comment to the end of the line, an escape, one other byte. Follows `state`.
size_t config_scan_token(enum config_scan_state *state, const char *line, size_t length);
// Whether a word from code is an integer without an L, and its value; one that does not fit is the
// largest of its sign.
bool config_scan_integer(const char *word, size_t length, long long *ret_value);
// The length of the include directive that a line of code opens with, up to the closing quote, and
// the file name in it; 0 if there is none. A directive without its closing quote takes the whole
// line, its name NULL.
size_t config_scan_include(const char *line, size_t length, const char **ret_name,
                           size_t *ret_name_length);
