// The mistakes of a configuration that `edgectl setup` finds on a terminal: each is shown with its
// line and what is allowed, and asked about. Nothing is written here.
#pragma once

#include "config/base.h"

#include <stdbool.h>

// Finds the mistakes of `text`, which the file at `path` has, and asks about each whether to mend
// or to keep it. *ret_text: the text as it is mended then, and *ret_changes: what was mended, a
// line each; both are for the caller to g_free(), or NULL if there was no mistake. *ret_whole: none
// is left. -ECANCELED: the input ended.
int setup_mend(const char *text, const char *path, struct error *error, char **ret_text,
               char **ret_changes, bool *ret_whole);
