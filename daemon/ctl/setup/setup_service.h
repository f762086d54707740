// edged.service and edged.socket, by systemctl, as `edgectl setup` needs them.
#pragma once

#include "config/base.h"

#include <stdbool.h>

// Gives edged.socket the address and port that edged is to listen on, where it is in use; edged
// itself is stopped for it. 0, -EIO where systemd refuses, or what the file system says.
int setup_service_place_socket(const char *address, int port, struct error *error);
// Has systemd start edged, or start it anew where it runs, and with `enable` whenever the system
// starts. -EIO where it does not start.
int setup_service_start(bool enable, struct error *error);
// Whether systemd runs here and has edged.service; and whether that runs.
bool setup_service_exists(void);
bool setup_service_runs(void);
