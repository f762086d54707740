// Changes of the file of users (config/users.h): its comments and the order of its lines stay.
#pragma once

#include "config/users.h"

// Puts a user into the file at `path`, in the place of the one of that name, or at its end; makes
// the file if there is none. It is 0600 afterwards, and its owner stays; a new one of root's
// belongs to the user edged, whom the service runs as, where there is one. What users_parse() says
// of the file as it is, -EFBIG (too large), -EIO or what replace_file() says, with nothing changed.
int users_edit_put(const char *path, const struct user *user, struct error *error);
// Takes the user of that name out. The same errors, and -ENOENT: there is none.
int users_edit_remove(const char *path, const char *name, struct error *error);
// The user of that name; -ENOENT, without a sentence, if the file or the user is not there.
int users_edit_find(const char *path, const char *name, struct error *error, struct user *ret_user);

// The file that the configuration at `config_path` names, else rtsp.users beside it, with whether
// it names it in *ret_named: also where the configuration has mistakes, such as that the file is
// not there yet. The caller frees the path; NULL: no memory.
char *users_edit_default_path(const char *config_path, bool *ret_named);
