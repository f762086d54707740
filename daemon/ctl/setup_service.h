// edged.service and edged.socket, by systemctl, as `edgectl setup` needs them.
#pragma once

#include "config/base.h"

#include <stdbool.h>

// Has systemd start edged, or start it anew where it runs, and with `enable` whenever the system
// starts. edged.socket gets the address and port that edged is to listen on, where it is in use.
// 0, -EIO where edged does not start, or what the file system says.
int setup_service_apply(const char *address, int port, bool enable, struct error *error);
// Whether systemd runs here and has edged.service; and whether that runs.
bool setup_service_exists(void);
bool setup_service_runs(void);
