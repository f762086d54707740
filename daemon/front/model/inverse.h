// The change that takes a change of settings back, as a JSON merge patch, for undo.
#pragma once

#include "config/live/live.h"

// The change that takes back the one from `before` to `after` of the paths in `asked`, and of those
// in `resets` that went to what the file says: the value of a key where `set`, the settings that
// were over the file before, has one, else null, which goes back to what the file says; a region
// that was there with all that may be set of it; null for a region that was not. "{}" where nothing
// changed. The caller g_free()s it.
char *inverse_of_change(const struct config_overrides *set, const struct config *before,
                        const struct config *after, const struct config_overrides *asked,
                        const struct config_overrides *resets);
