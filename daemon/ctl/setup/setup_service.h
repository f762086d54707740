// Controls edged.service and edged.socket by systemctl, for `edgectl setup`.
#pragma once

#include "config/base.h"

#include <stdbool.h>

// The ListenStream= of edged.socket for that address and port, "127.0.0.1:8554" or "[::1]:8554".
// The caller frees it (g_free).
char *setup_service_socket_text(const char *address, int port);
// Whether a program can listen on that address here: it is one of this machine, or all of them.
bool setup_service_has_address(const char *address);
// Gives edged.socket the address and port that edged is to listen on, where it is in use; edged
// itself is stopped for it. 0, -EIO where systemd refuses, or what the file system says.
int setup_service_place_socket(const char *address, int port, struct error *error);
// Makes the folder that edged-recorder is to keep clips in, and lets its service write there. 0,
// -EACCES: it is somebody else's, -EIO where systemd refuses, or what the file system says.
int setup_service_place_storage(const char *path, struct error *error);
// Whether systemd runs here and has edged-mqtt.service, or $EDGED_MQTT_PROGRAM is set.
bool setup_service_has_broker(void);
// Writes the password of edged's user at the broker into a file of the user edged-mqtt, or without
// one of whoever runs this. Errors are those of replace_file().
int setup_service_place_password(const char *path, const char *password, struct error *error);
// Has systemd start edged-mqtt, also whenever the system starts. -EIO: it does not start.
int setup_service_start_broker(struct error *error);
// Has systemd start edged, or restart it if it runs; with `enable` also whenever the system starts.
// -EIO: it does not start.
int setup_service_start(bool enable, struct error *error);
// Whether systemd runs here and has edged.service; and whether that runs.
bool setup_service_exists(void);
bool setup_service_runs(void);
// Gives edged.socket the address that it had before setup_service_place_socket().
void setup_service_put_socket_back(void);
