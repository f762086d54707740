// What `edgectl setup` says at the end: where the stream is to be watched.
#pragma once

#include "config/config.h"

// Prints the URL of the first view for other machines, and as a QR code where standard output is a
// terminal and qrencode is there. The URL has no password in it. `user`: the user that was made;
// NULL: none.
void setup_report_print(const struct config *config, const char *user);
