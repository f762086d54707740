// What may follow what in a view of one's own.
#pragma once

#include "config/config.h"

// The words, by enum config_stage, NULL at the end.
extern const char *const stages_words[];

// Whether each of the stages takes what the one before it makes, the first the camera's picture.
// -EINVAL with "got …, allowed there: …" in `error`.
int stages_check(const struct config_words *stages, struct error *error);
