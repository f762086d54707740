// Shared by the sources that are one running pipeline: a launch fragment of the configuration's, or
// a camera behind RTSP.
#pragma once

#include "capture/gstreamer/gstreamer_intake.h"
#include "capture/gstreamer/rhythm.h"

struct source_gstreamer {
    struct source source;
    struct intake *intake;                        // owned
    const char *what;                             // "pipeline"; errors begin with it
    const struct source_environment *environment; // not owned
    struct rhythm rhythm;                         // of a pipeline of the configuration's
    bool converts; // an element that is not the CPU's makes other pictures of the camera's
};

// The format that the camera's configuration insists on; NULL for "auto". -ENOTSUP: a pipeline
// cannot deliver it.
int source_gstreamer_format(const struct config_camera *camera, struct error *error,
                            const struct pixel_format **ret_format);

// Calls `open_intake` on a new object of `size` bytes, which begins with a source_gstreamer, then
// fills in what the mode lacks and describes it as `label`. Errors of `open_intake`.
int source_gstreamer_new(
    const struct source_ops *ops, size_t size, const char *what, const char *label,
    const struct config_camera *camera, const struct source_environment *environment,
    int (*open_intake)(struct source_gstreamer *self, const struct config_camera *camera,
                       const struct source_environment *environment, struct error *error),
    struct error *error, struct source **ret_source);

// As source_ops has them.
int source_gstreamer_start(struct source *source, struct error *error);
int source_gstreamer_next(struct source *source, int timeout_ms, struct error *error,
                          struct frame **ret_frame);
void source_gstreamer_close(struct source *source);
