// A part of `edgectl status` that other commands show as well.
#pragma once

#include "daemon/client/client.h"

// Prints the settings that are not from the file, a line each as `edged --check` does, and `title`
// before them. Prints nothing if there is none, or if this user may not know.
void status_print_settings(const struct client *client, const char *title);
