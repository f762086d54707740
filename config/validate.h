// What a single value cannot tell: names, keys that belong together, keys without effect.
#pragma once

#include "config/config.h"
#include "config/problems.h"

// Gives unnamed cameras and views of `config` their names, cameras without views one view, a
// configuration without cameras one camera; -ENOMEM.
int validate_complete(struct config *config);
// Finds the remaining problems of a completed configuration that was read from `root`.
void validate_check(struct problems *problems, const config_setting_t *root,
                    const struct config *config);
