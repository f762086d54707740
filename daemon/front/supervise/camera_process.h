// Starts the process of a camera: by systemd, in a unit that hides what is not the camera's, where
// edged is told of the unit's socket, else as a process of its own.
#pragma once

#include "config/config.h"
#include "daemon/front/supervise/own_files.h"
#include "daemon/front/supervise/process.h"

// The process that is wanted; embedded. All but `files` is borrowed.
struct camera_process_plan {
    const char *program;     // that edged starts itself
    const char *socket;      // of systemd's unit; NULL: there is none
    const char *config_path; // NULL: there is no file
    const struct config *config;
    size_t camera;          // its number in `config`
    struct own_files files; // of the camera, as they were for the newest process of a unit
};

// As process_spawn() and process_summon().
int camera_process_start(struct process *process, struct camera_process_plan *plan,
                         GChildWatchFunc on_exit, void *context, struct error *error, int *ret_fd);
// Whether the process is of a unit and only another one can see or open something: a file of the
// camera's that is another now, or with `refused` the GPU's devices, which came after it had
// started. `error` (may be NULL) gets a sentence then.
bool camera_process_is_outdated(const struct process *process,
                                const struct camera_process_plan *plan, bool refused,
                                struct error *error);
