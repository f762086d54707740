// The front: owns configuration, RTSP server, cameras, control socket and what systemd is told.
#pragma once

#include "config/config.h"

#include <stdbool.h>

#define FRONT_ALIAS_PATH "/edges" // a second path of the first camera's first view

struct front;

// Exit statuses of edged, documented in edged(8).
enum front_exit {
    FRONT_EXIT_OK = 0,
    FRONT_EXIT_CONFIGURATION = 1,
    FRONT_EXIT_USAGE = 2,
    FRONT_EXIT_ADDRESS = 3, // port or control socket taken, or not ours to take
    FRONT_EXIT_CAMERA = 4,  // no camera program, GStreamer element, or file descriptors
};

// Builds everything from `config` (taken over on success) and starts the camera processes.
// `config_path` is loaded again on SIGHUP; NULL: there is no file. On failure the status to exit
// with is returned as a positive enum front_exit, its sentence in `error`.
int front_new(struct config *config, const char *config_path, struct error *error,
              struct front **ret_front);
// Runs until SIGTERM or SIGINT, then ends sessions and processes (under 2 s). False: not all of
// them ended in that time, and threads of viewers may go on whatever is freed; _exit() ends them.
bool front_run(struct front *front);
// Takes NULL.
void front_free(struct front *front);
