// Loading the configuration again while the front runs.
#pragma once

#include "config/users.h"
#include "daemon/front/front_network.h"
#include "daemon/front/reload_verdict.h"

// The process may open enough files for `config`. -EMFILE with the numbers in `error`.
int front_config_check_descriptors(const struct config *config, struct error *error);

// Loads the file of `verdict` and that of its users (NULL: none) again, logs every problem and
// notes them there; a file without a setting is one here. Addresses are bound once: where the file
// has others than `in_use`, that is a warning, and the new configuration gets those of `in_use`
// (which is left with the file's). 0, or the error of config_load(), -EINVAL for a file without a
// setting, -EMFILE for more cameras than there are file descriptors for, or that of users_read().
// `network` listens by it last of all, because that takes effect at once: the errors of
// front_network_listen(). *ret_changes says in one line what has changed, and what that costs;
// NULL: no memory to. The caller owns all three.
int front_config_reload(struct config *in_use, struct reload_verdict *verdict,
                        struct front_network *network, struct config **ret_config,
                        struct users **ret_users, char **ret_changes);
// Writes a warning for each pipeline that names an element which GStreamer does not have: the
// parser cannot see that.
void front_config_warn(const struct config *config, const char *path, FILE *problems);
