// The camera process: one camera, its lane, its channels, and the link to the front.
//
// The main thread is the control thread: it reads commands from the link, flushes what waits on it
// and sends telemetry. The process ends when the link does.
#pragma once

#include "config/config.h"

struct camera;

// Takes over the link's fd, waits up to 10 s for the configuration and builds everything from it.
// -EPIPE, -ETIMEDOUT, -EPROTO, -EINVAL with `error` filled in.
int camera_new(int link_fd, struct error *error, struct camera **ret_camera);
// The settings that its source is opened with, borrowed: other settings of the source are for
// another process.
const struct config_camera *camera_settings(const struct camera *camera);
// Runs until the front closes the link, and returns 0, or until this process can do no more, of
// which the front is told: -ENOSYS when no retry can help, -ENOTRECOVERABLE when the GPU is lost or
// an encoder hangs. Also -ENOTRECOVERABLE when a thread is still in the GPU's driver. After
// -ENOTRECOVERABLE the process can only _exit(): camera_free() and exit handlers might wait for
// what does not answer.
int camera_run(struct camera *camera);
void camera_free(struct camera *camera); // takes NULL
