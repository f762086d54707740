// Files and edged.service: where it keeps its own, where its control socket is, and the files of a
// configuration. Some of these it cannot read, although the user who tries the configuration by
// hand may: its ProtectHome=yes hides /home, /root and /run/user, and it runs as user edged.
#pragma once

#include "config/config.h"

#include <stdbool.h>
#include <sys/types.h>

#define CAMERA_FILES_MAX 64
// The files that the configuration of a camera names and its process reads: its login, its picture
// or clip, and masks. Lists their paths, borrowed from `camera`, each once at least; returns how
// many.
size_t camera_files_list(const struct config_camera *camera,
                         const char *ret_paths[CAMERA_FILES_MAX]);

// The user that edged.service runs as, and its group. False: this machine has none.
bool service_user_find(uid_t *ret_uid, gid_t *ret_gid);

// Whether the service does not see the path.
bool service_files_hides(const char *path);

// Calls `tell` for each file that it cannot read with the key that names it ("cameras[0].path") and
// the reason, which goes behind the path. Links are followed. Owners and modes are looked at only
// where there is a user edged, and not those of files with access control lists.
void service_files_tell(const struct config *config,
                        void (*tell)(void *context, const char *key, const char *path,
                                     const char *reason),
                        void *context);

// The path of file `name` in $STATE_DIRECTORY (the first of a list), which systemd sets for the
// service, else in $XDG_STATE_HOME/edged, else in ~/.local/state/edged. -ENOENT without any of
// them, -ENOMEM. The caller frees *ret_path.
int state_path(const char *name, char **ret_path);

// The control socket: the path in the config, or the default for who is running:
// $XDG_RUNTIME_DIR/edged/control.sock for a user, /run/edged/control.sock for root and services
// ($RUNTIME_DIRECTORY where systemd sets it). The caller frees *ret_path. -EINVAL for a path longer
// than a unix address takes.
int control_path_find(const char *configured, struct error *error, char **ret_path);
// -EINVAL: longer than a unix address takes, with the sentence in `error`.
int control_path_check(const char *path, struct error *error);
