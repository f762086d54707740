// The line of a camera process that systemd started to the front (daemon/link/camera_start.h).
#pragma once

#include "daemon/link/camera_start.h"

// Reads the start from the line and answers it. From then on the kernel kills this process when the
// front closes its end of the line, and the process says how it exits, also by exit(). The camera's
// own files are at their paths, by links where the unit hides the folders, and the variables that
// the environment does not have are set. Before any other thread is there.
int unit_line_open(int line_fd, struct error *error, struct camera_start_received *ret_start);
// Says how the process is about to end, once: for an end by _exit(). Nothing without a line.
void unit_line_tell_exit(int exit_status);
