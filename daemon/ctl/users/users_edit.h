// Changes the files of users, of programs with tokens and of ONVIF's passwords (config/users.h),
// and keeps their comments and the order of their lines.
#pragma once

#include "config/users.h"

#include <sys/stat.h>

// Puts a user into the file at `path`, in place of the one of that name, or at its end; makes the
// file if there is none. Afterwards its mode is 0600. Its owner stays; a new file that root makes
// belongs to the user edged, whom the service runs as, if that user exists. Errors change nothing:
// those of users_parse() for the file as it is, of replace_file(), -EFBIG (too large), -EIO.
int users_edit_put(enum users_kind kind, const char *path, const struct user *user,
                   struct error *error);
// Removes the user of that name. The same errors; -ENOENT: there is none; -EINVAL: it is the last
// one of rtsp.users, and edged takes no file without users.
int users_edit_remove(enum users_kind kind, const char *path, const char *name,
                      struct error *error);
// Changes *role to that of the user of that name, if the file and the user are there. Errors of
// reading, as above.
int users_edit_role(enum users_kind kind, const char *path, const char *name, struct error *error,
                    enum config_role *role);
// Reads the file; without one *ret_users is empty. The same errors; the caller users_free()s it.
int users_edit_read(enum users_kind kind, const char *path, struct error *error,
                    struct users **ret_users);

// The file that the configuration at `config_path` names, else one called as the key (rtsp.users)
// beside it; *ret_named is
// whether it is named. Works also if the configuration has mistakes, for example because the file
// is not there yet. The caller frees the path.
char *users_edit_default_path(enum users_kind kind, const char *config_path, bool *ret_named);

// The owner and group of a new file with secrets: the user edged if root makes it and that user
// exists, else who runs this.
void users_edit_choose_owner(struct stat *like);
