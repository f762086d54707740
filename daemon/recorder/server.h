// The recorder as the front sees it: one link at a time, its messages, and their answers
// (daemon/link/record.h). A front that connects takes the place of one that was connected before.
#pragma once

#include "config/base.h"

struct recorder_server;

// Takes over `fd`: a listening socket, on which fronts connect, or a socket that is connected to
// the only front. `ended` is called when that one hangs up. 0 or a negative errno.
int recorder_server_new(int fd, void (*ended)(void *context), void *context, struct error *error,
                        struct recorder_server **ret_server);
// Closes all clips and waits until they are written. Takes NULL.
void recorder_server_free(struct recorder_server *server);
