// Files of a configuration that edged.service cannot see: its ProtectHome=yes hides /home, /root
// and /run/user, where a user who tries a configuration by hand sees them.
#pragma once

#include "config/config.h"

// Calls `tell` for each such file with the key that names it ("cameras[0].path"). Links are
// followed.
void hidden_paths_tell(const struct config *config,
                       void (*tell)(void *context, const char *key, const char *path),
                       void *context);
// What to say behind the key and the path.
#define HIDDEN_PATHS_HINT                                                                          \
    "edged.service does not see it, because it sees nothing in /home, /root and /run/user; move "  \
    "it to /etc/edged or /var/lib/edged"
