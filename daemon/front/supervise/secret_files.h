// The files with secrets that a process of edged's own must not read or write (common/confine.h):
// the configuration, what is kept over it, users, tokens, keys, and logins of cameras and at the
// broker.
#pragma once

#include "config/config.h"

#include <glib.h>

// The files that `config`, read from `config_path` (NULL: the built-in defaults), and the state
// directory have. Left out are the login of the camera `reader` (NULL: of none), which its process
// reads, and what lies in the folder `storage` (NULL: in none), which the recorder writes. Ends in
// NULL; for g_strfreev().
char **secret_files_list(const struct config *config, const char *config_path,
                         const struct config_camera *reader, const char *storage);
