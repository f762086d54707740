// Common mistakes in a configuration's syntax, in words that name them: libconfig says no more than
// "syntax error".
#pragma once

#include "config/parse/config_text.h"

struct syntax_hint {
    struct config_line place;
    char text[160];
};

// Why libconfig stopped at line `number` (from 1) of the expanded text: a brace that closes
// nothing, another one than was opened, or none; a curly quote in that line. False: it is something
// else.
bool syntax_hint_find(const struct config_text *text, unsigned number,
                      struct syntax_hint *ret_hint);
// Where the setting that line `number` sets for the second time stands first, with its name as the
// text. False: it is no setting of the file's outermost level, or does not begin its line.
bool syntax_hint_find_first(const struct config_text *text, unsigned number,
                            struct syntax_hint *ret_hint);
