// Makes a channel's encoder, and the frames for its NO SIGNAL pictures, which lie where the view's
// pictures do: an encoder takes frames of one kind of memory.
#include "daemon/camera/channel_private.h"

#include "daemon/camera/slate.h"
#include "daemon/common/log.h"
#include "kernels/gpu/gpu_surfaces.h"

#define SLATE_FRAMES 6
// An encoder that reads surfaces itself keeps some until more follow.
#define SLATE_SURFACES ENCODER_PICTURES

// Frames for slates, like those that the encoder gets otherwise.
static int make_slate_pool(const struct encoder_settings *settings, struct gpu_surfaces *surfaces,
                           struct error *error, struct frame_pool **ret_pool)
{
    const struct frame_allocator *allocator =
        settings->surfaces ? gpu_surfaces_allocator(surfaces) : frame_allocator_host();
    struct frame_layout layout;
    int r = 0;

    frame_layout_init(&layout, pixel_format_by_name("NV12"), settings->width, settings->height,
                      FRAME_STRIDE_ALIGN);
    layout.range = settings->range;
    layout.colour = settings->colour;
    if (settings->surfaces) {
        r = allocator->surfaces->lay_out(allocator->context, &layout, error);
    }
    if (r == 0) {
        r = frame_pool_new(&layout, settings->surfaces ? SLATE_SURFACES : SLATE_FRAMES, allocator,
                           ret_pool);
        if (r < 0 && !(settings->surfaces && gpu_surfaces_take_failure(surfaces, error))) {
            error_set(error, r, "no memory for %ux%u pictures", layout.width, layout.height);
        }
    }
    return r;
}

int channel_draw_slate(const struct channel *channel, struct frame *frame, int64_t seconds,
                       struct error *error)
{
    int r = frame_begin_cpu_access(frame, error);

    if (r < 0) {
        return r;
    }
    slate_draw(frame, channel->environment->camera, seconds);
    return frame_end_cpu_access(frame, error);
}

// Makes frames for slates, and draws the one that is to be encoded on trial.
static int make_trial(const struct channel *channel, const struct encoder_settings *settings,
                      struct channel_parts *parts, struct error *error, struct frame **ret_trial)
{
    int r = make_slate_pool(settings, parts->surfaces, error, &parts->slate_pool);

    if (r == 0) {
        *ret_trial = frame_pool_take(parts->slate_pool);
        r = channel_draw_slate(channel, *ret_trial, -1, error);
    }
    if (r < 0) {
        frame_unref(TAKE(*ret_trial));
        frame_pool_unref(TAKE(parts->slate_pool));
    }
    return r;
}

// Logs, if there is something to tell, why surfaces do not go into the encoder in the best way, and
// how they do.
static void tell_way(const struct channel *channel, const struct encoder *encoder,
                     const struct error *why)
{
    if (why->text[0]) {
        log_write(LOG_NOTICE, LOG_EVENT_NONE, channel->environment->camera, NULL,
                  "pictures in nvmm memory: %s, using %s%s", why->text, encoder_name(encoder),
                  encoder_how(encoder));
    }
}

// Where there are no surfaces for slates, the encoder reads those of the view by the CPU.
int channel_make_encoder(struct channel *channel, const struct encoder_settings *wanted,
                         struct channel_parts *parts, struct error *error)
{
    struct encoder_settings settings = *wanted;
    _cleanup_(cleanup_frame) struct frame *trial = NULL;
    struct error why = {0}, ways = {0};
    int r = make_trial(channel, &settings, parts, &why, &trial);

    parts->lacks_surfaces = r && settings.surfaces;
    if (parts->lacks_surfaces) {
        settings.surfaces = 0;
        r = make_trial(channel, &settings, parts, error, &trial);
    } else if (r) {
        *error = why;
    }
    if (r) {
        return r;
    }
    r = encoder_new(&settings, trial, channel->environment->encoders, channel_send_unit, channel,
                    &ways, &parts->encoder);
    if (r) {
        *error = ways;
        parts->refused = *wanted;
        parts->refusal = *error;
        frame_pool_unref(TAKE(parts->slate_pool));
    } else {
        parts->refused = (struct encoder_settings){0};
        tell_way(channel, parts->encoder, ways.text[0] ? &ways : &why);
    }
    return r;
}
