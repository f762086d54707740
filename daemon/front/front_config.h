// Loading the configuration again while the front runs.
#pragma once

#include "config/config.h"

// The process may open enough files for `config`. -EMFILE with the numbers in `error`.
int front_config_check_descriptors(const struct config *config, struct error *error);

// Loads `path` and logs every problem; a file without a setting is one here. Addresses are bound
// once: where the file has others than `in_use`, that is logged, and the new configuration gets
// those of `in_use` (which is left with the file's). 0, or the error of config_load(), -EINVAL for
// a file without a setting.
int front_config_reload(const char *path, struct config *in_use, struct config **ret_config);
// Writes a line of warning for each pipeline that names what GStreamer has not got: what a parser
// cannot see, and `edgectl doctor` would find.
void front_config_warn(const struct config *config, const char *path, FILE *problems);
