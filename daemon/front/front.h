// The front: owns configuration, RTSP server, cameras and control socket, and reports to systemd.
#pragma once

#include "config/config.h"

#include <stdbool.h>

struct front;
struct live;

// Exit statuses of edged, documented in edged(8).
enum front_exit {
    FRONT_EXIT_OK = 0,
    FRONT_EXIT_CONFIGURATION = 1,
    FRONT_EXIT_USAGE = 2,
    FRONT_EXIT_ADDRESS = 3, // port or control socket is taken, or may not be used
    FRONT_EXIT_CAMERA = 4,  // no camera program, GStreamer element, or file descriptors
};

// Builds everything from `config` and `live`, what that is made of, and starts the camera
// processes. Both are taken over on success; on failure `live` may be empty afterwards. Its file is
// loaded again on SIGHUP. On failure the status to exit with is returned as a positive enum
// front_exit, its sentence in `error`.
int front_new(struct config *config, struct live *live, struct error *error,
              struct front **ret_front);
// Runs until SIGTERM or SIGINT, then ends sessions and processes (under 2 s). False: not all of
// them ended in that time; the caller then ends by _exit().
bool front_run(struct front *front);
// Takes NULL.
void front_free(struct front *front);
