// Where edged keeps what it makes itself.
#pragma once

#include "config/base.h"

// The path of file `name` in $STATE_DIRECTORY (the first of a list), which systemd sets for the
// service, else in $XDG_STATE_HOME/edged, else in ~/.local/state/edged. -ENOENT without any of
// them, -ENOMEM. The caller frees *ret_path.
int state_path(const char *name, char **ret_path);
