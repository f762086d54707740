// The moving pattern at an exact cadence: frame n is due at start + n / fps on CLOCK_MONOTONIC,
// whatever became of the frames before it.
#include "capture/pattern/pattern.h"
#include "capture/source.h"

#include <errno.h>
#include <string.h>

#define POOL_FRAMES 14 // an encoder may hold a dozen that a view passes through
#define BACKLOG 4      // frames that wait for a late reader, as a driver's buffers would

struct source_pattern {
    struct source source;
    struct frame_pool *pool; // owned reference
    struct pattern *pattern; // owned
    int64_t start_ns;
    uint64_t number; // of the next frame
};

static void pattern_source_close(struct source *source)
{
    struct source_pattern *self = (struct source_pattern *)source;

    pattern_free(self->pattern);
    frame_pool_unref(self->pool);
    free(self);
}

static int init_mode(struct source_mode *mode, const struct config_camera *camera,
                     struct error *error)
{
    const char *name = strcmp(camera->format, "auto") == 0 ? "NV12" : camera->format;
    const struct pixel_format *format = pixel_format_picture_by_name(name);

    if (!format) {
        return error_set(error, -ENOTSUP,
                         "the pattern has no format %s (it draws YUYV, UYVY, NV12, NV21, YU12 "
                         "and GREY)",
                         name);
    }
    frame_layout_init(&mode->layout, format, (uint32_t)camera->width, (uint32_t)camera->height,
                      FRAME_STRIDE_ALIGN);
    mode->layout.range = FRAME_RANGE_LIMITED;
    mode->fps_numerator = (unsigned)camera->fps;
    mode->fps_denominator = 1;
    source_mode_describe(mode, "pattern");
    return 0;
}

static int pattern_source_open(const struct config_camera *camera,
                               const struct source_environment *environment, struct error *error,
                               struct source **ret_source)
{
    _cleanup_(cleanup_source) struct source *source = NULL;
    struct source_pattern *self = calloc(1, sizeof *self);
    int r;

    if (!self)
        return error_set(error, -ENOMEM, "pattern: out of memory");
    source = &self->source;
    source->ops = &source_pattern_ops;
    r = init_mode(&source->mode, camera, error);
    if (r < 0)
        return r;
    r = pattern_new(&source->mode.layout, &self->pattern);
    if (r < 0)
        return error_set(error, r, "the pattern cannot draw %s", source->mode.layout.format->name);
    r = frame_pool_new(&source->mode.layout, POOL_FRAMES, environment->allocator, &self->pool);
    if (r < 0)
        return error_set(error, r, "pattern: no frame memory: %s", strerror(-r));
    *ret_source = TAKE(source);
    return 0;
}

void source_pattern_set_caption(struct source *source, const char *caption)
{
    pattern_set_caption(((struct source_pattern *)source)->pattern, caption);
}

static int pattern_source_start(struct source *source, struct error *error)
{
    struct source_pattern *self = (struct source_pattern *)source;

    (void)error;
    self->start_ns = clock_now_ns();
    self->number = 0;
    return 0;
}

static int64_t due_ns(const struct source_pattern *self, uint64_t number)
{
    uint64_t fps = self->source.mode.fps_numerator;

    return self->start_ns + (int64_t)(number / fps) * NS_PER_S +
           (int64_t)(number % fps * (uint64_t)NS_PER_S / fps);
}

// Gives up the frames that no backlog holds any more.
static void skip_missed(struct source_pattern *self)
{
    int64_t now = clock_now_ns();

    while (due_ns(self, self->number + BACKLOG) <= now) {
        self->number++;
        self->source.counters.dropped++;
    }
}

static int pattern_source_next(struct source *source, int timeout_ms, struct error *error,
                               struct frame **ret_frame)
{
    struct source_pattern *self = (struct source_pattern *)source;
    int64_t deadline_ns = clock_now_ns() + timeout_ms * NS_PER_MS;

    (void)error;
    for (;;) {
        struct frame *frame;
        int64_t when_ns;

        skip_missed(self);
        when_ns = due_ns(self, self->number);
        clock_sleep_until_ns(when_ns < deadline_ns ? when_ns : deadline_ns);
        if (when_ns > deadline_ns)
            return -EAGAIN;
        frame = frame_pool_take(self->pool);
        if (frame) {
            frame->sequence = self->number++;
            frame->pts_ns = due_ns(self, frame->sequence);
            frame->grabbed_ns = clock_now_ns();
            pattern_draw(self->pattern, frame->sequence, frame);
            source->counters.frames++;
            *ret_frame = frame;
            return 0;
        }
        self->number++;
        source->counters.dropped++;
    }
}

const struct source_ops source_pattern_ops = {
    .open = pattern_source_open,
    .start = pattern_source_start,
    .next = pattern_source_next,
    .close = pattern_source_close,
};
