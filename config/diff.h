// The differences between two configurations, and the cost of each.
//
// The schema table says the cost of each key: the front obeys it at a reload, and the log and
// `edged --check --diff` tell it. Keys without effect do not count; cameras, views and regions are
// those of the same name.
#pragma once

#include "config/config.h"

// Whether two configurations say the same, in the same order; false also without memory.
bool config_is_equal(const struct config *a, const struct config *b);
// Writes each change as a line `PATH: BEFORE -> AFTER, COST`, with the places of `after` in PATH
// ("cameras[0].views[1].gain: 1.0 -> 2.0, between two frames"); else that
// nothing has changed, or only the order of cameras, views or regions.
void config_diff_print(FILE *file, const struct config *before, const struct config *after);
// The same in one line for the log, a few paths for each cost and no values, for the caller to
// free. NULL: no memory.
char *config_diff_summarize(const struct config *before, const struct config *after);
// The cost of the change for camera number `index` of `after`, which `before` has, too. Changes
// that wait for the next start of edged do not count.
enum config_cost config_diff_camera(const struct config *before, const struct config *after,
                                    size_t index);
// "between two frames", "this view starts anew", …
const char *config_cost_text(enum config_cost cost);

// Whether two views make the same of a frame: all but their names and how they are encoded counts,
// the sides of a split with it, but not what mask files hold.
bool config_views_look_equal(const struct config_view *a, const struct config_view *b);
// Whether two regions find the same motion in a frame: what becomes an event does not count.
bool config_regions_look_equal(const struct config_region *a, const struct config_region *b);
