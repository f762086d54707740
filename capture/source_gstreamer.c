// Frames from a launch fragment of the configuration.
#include "capture/gstreamer_caps.h"
#include "capture/gstreamer_intake.h"
#include "capture/source.h"

#include <errno.h>
#include <string.h>

struct source_gstreamer {
    struct source source;
    struct intake *intake; // owned
};

static void gstreamer_source_close(struct source *source)
{
    intake_free(((struct source_gstreamer *)source)->intake);
    free(source);
}

// The format the configuration insists on; NULL for "auto".
static int wished_format(const struct config_camera *camera, struct error *error,
                         const struct pixel_format **ret_format)
{
    *ret_format = NULL;
    if (strcmp(camera->format, "auto") == 0) {
        return 0;
    }
    *ret_format = pixel_format_by_name(camera->format);
    return *ret_format ? 0
                       : error_set(error, -ENOTSUP,
                                   "a pipeline cannot deliver %s to edged, only raw video (\"auto\""
                                   ", YUYV, UYVY, NV12, NV21, YU12, GREY, RGB3, BGR3, XR24)",
                                   camera->format);
}

static int open_intake(struct source_gstreamer *self, const struct config_camera *camera,
                       const struct source_environment *environment, struct error *error)
{
    g_autoptr(GstCaps) caps = NULL;
    const struct pixel_format *format;
    int r = wished_format(camera, error, &format);

    if (r < 0) {
        return r;
    }
    caps = gstreamer_caps_new(format, camera->width, camera->height, camera->fps);
    r = intake_new(camera->pipeline, caps, environment, error, &self->intake);
    if (r < 0) {
        return r;
    }
    return intake_open(self->intake, &self->source.mode, error);
}

static int gstreamer_source_open(const struct config_camera *camera,
                                 const struct source_environment *environment, struct error *error,
                                 struct source **ret_source)
{
    _cleanup_(cleanup_source) struct source *source = NULL;
    struct source_gstreamer *self = calloc(1, sizeof *self);
    int r;

    if (!self) {
        return error_set(error, -ENOMEM, "pipeline: out of memory");
    }
    source = &self->source;
    source->ops = &source_gstreamer_ops;
    r = open_intake(self, camera, environment, error);
    if (r < 0) {
        return error_prefix(error, r, "pipeline \"%s\"", camera->pipeline);
    }
    if (source->mode.fps_numerator == 0) {
        source->mode.fps_numerator = (unsigned)camera->fps;
        source->mode.fps_denominator = 1;
    }
    source_mode_describe(&source->mode, "GStreamer");
    *ret_source = TAKE(source);
    return 0;
}

static int gstreamer_source_start(struct source *source, struct error *error)
{
    (void)error;
    intake_play(((struct source_gstreamer *)source)->intake);
    return 0;
}

static int gstreamer_source_next(struct source *source, int timeout_ms, struct error *error,
                                 struct frame **ret_frame)
{
    struct intake *intake = ((struct source_gstreamer *)source)->intake;
    int64_t deadline_ns = clock_now_ns() + timeout_ms * NS_PER_MS;
    int r;

    for (;;) {
        switch (intake_wait(intake, deadline_ns)) {
        case INTAKE_SAMPLE:
            r = intake_take(intake, source, error, ret_frame);
            if (r != -EAGAIN) {
                return r < 0 ? error_prefix(error, r, "pipeline") : 0;
            }
            break;
        case INTAKE_FAILED:
            intake_failure(intake, error);
            return error_prefix(error, -EPIPE, "pipeline");
        case INTAKE_EOS:
        case INTAKE_SEGMENT_DONE:
            return error_set(error, -ENODATA, "the pipeline ended");
        case INTAKE_TIMEOUT:
            return -EAGAIN;
        }
    }
}

const struct source_ops source_gstreamer_ops = {
    .name = "gstreamer",
    .open = gstreamer_source_open,
    .start = gstreamer_source_start,
    .next = gstreamer_source_next,
    .close = gstreamer_source_close,
};
