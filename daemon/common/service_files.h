// Files and edged.service: where it keeps its own, and those of a configuration that it cannot
// read, although the user who tries the configuration by hand may: its ProtectHome=yes hides /home,
// /root and /run/user, and it runs as user edged.
#pragma once

#include "config/config.h"

#include <stdbool.h>
#include <sys/types.h>

// The user that edged.service runs as, and its group. False: this machine has none.
bool service_user_find(uid_t *ret_uid, gid_t *ret_gid);

// Whether the service does not see the path.
bool service_files_hides(const char *path);

// Calls `tell` for each such file with the key that names it ("cameras[0].path") and the reason,
// which goes behind the path. Links are followed. Owners and modes are looked at only where there
// is a user edged, and not those of files with access control lists.
void service_files_tell(const struct config *config,
                        void (*tell)(void *context, const char *key, const char *path,
                                     const char *reason),
                        void *context);

// The path of file `name` in $STATE_DIRECTORY (the first of a list), which systemd sets for the
// service, else in $XDG_STATE_HOME/edged, else in ~/.local/state/edged. -ENOENT without any of
// them, -ENOMEM. The caller frees *ret_path.
int state_path(const char *name, char **ret_path);
