// Starting and ending camera processes.
#pragma once

#include "config/base.h"

#include <sys/types.h>

// The program of camera processes: $EDGED_CAMERA_PROGRAM (for tests), else edged-camera beside the
// running executable, else the one in libexecdir. The caller frees *ret_path. -ENOENT with the
// places looked at in `error`.
int process_find_camera_program(struct error *error, char **ret_path);

// Starts `program` as `edged-camera --link-fd=3 NAME` with one end of a socketpair as fd 3, its own
// process group (a terminal's Ctrl-C is the front's to handle) and default signals. Returns the
// other end, non-blocking and CLOEXEC, and the pid. The caller closes the one and waits for the
// other.
int process_spawn_camera(const char *program, const char *name, struct error *error, int *ret_fd,
                         pid_t *ret_pid);

// How a process ended, as a clause ("was killed by signal 9 (Killed)", "exited with status 1").
void process_describe_end(int wait_status, char *buffer, size_t size);
