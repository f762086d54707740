// What a single value cannot tell: names, keys that belong together, keys without effect.
#pragma once

#include "config/config.h"
#include "config/problems.h"

// Gives unnamed cameras and views of `config` their names, views what depends on what they show,
// cameras without views one view, a
// configuration without cameras one camera; -ENOMEM.
int validate_complete(struct config *config);
// Gives a view with every other default those that depend on what it shows.
void validate_complete_view(struct config_view *view);
// Finds the remaining problems of a completed configuration that was read from `root`.
void validate_check(struct problems *problems, const config_setting_t *root,
                    const struct config *config);
