// Frames from a launch fragment of the configuration.
#include "capture/gstreamer/source_gstreamer.h"

#include "capture/gstreamer/gstreamer_caps.h"

#include <errno.h>
#include <string.h>

void source_gstreamer_close(struct source *source)
{
    intake_free(((struct source_gstreamer *)source)->intake);
    free(source);
}

int source_gstreamer_format(const struct config_camera *camera, struct error *error,
                            const struct pixel_format **ret_format)
{
    *ret_format = NULL;
    if (strcmp(camera->format, "auto") == 0)
        return 0;
    *ret_format = pixel_format_picture_by_name(camera->format);
    return *ret_format ? 0
                       : error_set(error, -ENOTSUP,
                                   "a pipeline cannot deliver %s to edged, only raw video (\"auto\""
                                   ", YUYV, UYVY, NV12, NV21, YU12, GREY, RGB3, BGR3, XR24)",
                                   camera->format);
}

// Opens the pipeline once more, with what makes its pixels square behind what it delivered.
static int open_square(struct source_gstreamer *self, const struct config_camera *camera,
                       const GstCaps *wished, const struct pixel_format *format,
                       const struct source_environment *environment, struct error *error)
{
    g_autoptr(GstCaps) caps = gstreamer_caps_new(format, 0, 0, 0);
    g_autofree char *wish = gst_caps_to_string(wished);
    g_autofree char *fragment =
        g_strdup_printf("%s ! capsfilter caps=\"%s\" ! videoconvert ! " GSTREAMER_SQUARE_PIXELS,
                        camera->pipeline, wish);
    int r;

    intake_free(TAKE(self->intake));
    r = intake_new(fragment, caps, INTAKE_QUEUED, environment, error, &self->intake);
    return r < 0 ? r : intake_open(self->intake, &self->source.mode, error);
}

static int open_intake(struct source_gstreamer *self, const struct config_camera *camera,
                       const struct source_environment *environment, struct error *error)
{
    g_autoptr(GstCaps) caps = NULL;
    const struct pixel_format *format;
    int r = source_gstreamer_format(camera, error, &format);

    if (r < 0)
        return r;
    caps = gstreamer_caps_new(format, camera->width, camera->height, camera->fps);
    r = intake_new(camera->pipeline, caps, INTAKE_QUEUED, environment, error, &self->intake);
    if (r < 0)
        return r;
    r = intake_open(self->intake, &self->source.mode, error);
    return r < 0 || intake_has_square_pixels(self->intake)
               ? r
               : open_square(self, camera, caps, format, environment, error);
}

int source_gstreamer_new(
    const struct source_ops *ops, size_t size, const char *what, const char *label,
    const struct config_camera *camera, const struct source_environment *environment,
    int (*open)(struct source_gstreamer *self, const struct config_camera *camera,
                const struct source_environment *environment, struct error *error),
    struct error *error, struct source **ret_source)
{
    _cleanup_(cleanup_source) struct source *source = NULL;
    struct source_gstreamer *self = calloc(1, size);
    int r;

    if (!self)
        return error_set(error, -ENOMEM, "%s: out of memory", what);
    source = &self->source;
    source->ops = ops;
    self->what = what;
    self->environment = environment;
    r = open(self, camera, environment, error);
    if (r < 0)
        return r;
    if (source->mode.fps_numerator == 0) {
        source->mode.fps_numerator = (unsigned)camera->fps;
        source->mode.fps_denominator = 1;
    }
    source_mode_describe(&source->mode, label);
    *ret_source = TAKE(source);
    return 0;
}

static int gstreamer_source_open(const struct config_camera *camera,
                                 const struct source_environment *environment, struct error *error,
                                 struct source **ret_source)
{
    int r = source_gstreamer_new(&source_gstreamer_ops, sizeof(struct source_gstreamer), "pipeline",
                                 "GStreamer", camera, environment, open_intake, error, ret_source);

    return r < 0 ? error_prefix(error, r, "pipeline \"%s\"", camera->pipeline) : 0;
}

int source_gstreamer_start(struct source *source, struct error *error)
{
    (void)error;
    intake_play(((struct source_gstreamer *)source)->intake);
    return 0;
}

int source_gstreamer_next(struct source *source, int timeout_ms, struct error *error,
                          struct frame **ret_frame)
{
    const struct source_gstreamer *self = (struct source_gstreamer *)source;
    int64_t deadline_ns = clock_now_ns() + timeout_ms * NS_PER_MS;
    int r;

    for (;;) {
        switch (intake_wait(self->intake, deadline_ns)) {
        case INTAKE_SAMPLE:
            r = intake_take(self->intake, source, error, ret_frame);
            source->in_order_until_ns = intake_in_order_until_ns(self->intake);
            if (r != -EAGAIN)
                return r < 0 ? error_prefix(error, r, "%s", self->what) : 0;
            break;
        case INTAKE_FAILED:
            intake_failure(self->intake, error);
            return error_prefix(error, -EPIPE, "%s", self->what);
        case INTAKE_EOS:
        case INTAKE_SEGMENT_DONE:
            return error_set(error, -ENODATA, "the %s ended", self->what);
        case INTAKE_TIMEOUT:
            return -EAGAIN;
        }
    }
}

// Pictures of a pipeline may come from a network, and so in bursts.
static int gstreamer_source_next(struct source *source, int timeout_ms, struct error *error,
                                 struct frame **ret_frame)
{
    struct source_gstreamer *self = (struct source_gstreamer *)source;
    int r = source_gstreamer_next(source, timeout_ms, error, ret_frame);

    if (r == 0) {
        int64_t told_ns = NS_PER_S * source->mode.fps_denominator / source->mode.fps_numerator;

        rhythm_note(&self->rhythm, (*ret_frame)->grabbed_ns);
        source->period_ns = rhythm_period_ns(&self->rhythm);
        if (!source->period_ns)
            source->period_ns = MAX(told_ns, RHYTHM_FIRST_NS);
    }
    return r;
}

const struct source_ops source_gstreamer_ops = {
    .open = gstreamer_source_open,
    .start = source_gstreamer_start,
    .next = gstreamer_source_next,
    .close = source_gstreamer_close,
};
