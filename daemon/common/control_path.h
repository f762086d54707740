// Where the control socket is, for edged and for those who ask it.
#pragma once

#include "config/base.h"

// The path in the config, or the default for who is running: $XDG_RUNTIME_DIR/edged/control.sock
// for a user, /run/edged/control.sock for root and services ($RUNTIME_DIRECTORY where systemd sets
// it). The caller frees *ret_path. -EINVAL for a path longer than a unix address takes.
int control_path_find(const char *configured, struct error *error, char **ret_path);
// -EINVAL: longer than a unix address takes, with the sentence in `error`.
int control_path_check(const char *path, struct error *error);
