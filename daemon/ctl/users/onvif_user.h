// Users who log in by ONVIF: viewers with a drawn password, which stands in two files, its hashes
// in rtsp.users and itself in onvif.passwords (config/users.h). The second is written first, as it
// counts only with the first.
#pragma once

#include "daemon/ctl/users/password.h"

#define ONVIF_USER "onvif" // whom `edgectl setup` makes

// onvif.passwords beside a file. The caller g_free()s it.
char *onvif_user_path(const char *beside);
// The password of a user who can log in by ONVIF already; the caller wipes it. -ENOENT: there is no
// such user; errors of users_read().
int onvif_user_find(const char *users_path, const char *onvif_path, const char *name,
                    struct error *error, struct password *ret_password);
// Makes the user, or gives one who is a viewer another password, which the caller wipes. -EINVAL:
// the user has another role; errors of users_edit_put() and getrandom().
int onvif_user_put(const char *users_path, const char *onvif_path, const char *name,
                   struct error *error, struct password *ret_password);
// Takes the password out of onvif.passwords, of a user who has none any more or another one. 0 also
// where there is none.
int onvif_user_forget(const char *onvif_path, const char *name, struct error *error);
