// Three centred lines of text over a flat picture; 16 characters of each always fit.
#include "daemon/camera/slate.h"

#include "capture/frame_pool.h"
#include "capture/letters.h"
#include "daemon/camera/encoder.h"
#include "daemon/common/log.h"
#include "kernels/gpu/gpu_surfaces.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SLATE_FRAMES 6
// An encoder that reads surfaces itself keeps some until more follow.
#define SLATE_SURFACES ENCODER_PICTURES
#define LINE_ADVANCE 10 // dots from line to line
#define LINE_CHARACTERS 16

#define LUMA_GROUND 40
#define LUMA_TITLE 210
#define LUMA_DETAIL 130
#define CHROMA_NEUTRAL 128

static void format_time(char *text, size_t size, int64_t seconds)
{
    int64_t hours = seconds / 3600, minutes = seconds / 60 % 60;

    if (hours)
        snprintf(text, size, "%" PRId64 ":%02" PRId64 ":%02" PRId64, hours, minutes, seconds % 60);
    else
        snprintf(text, size, "%" PRId64 ":%02" PRId64, minutes, seconds % 60);
}

int slate_draw(struct frame *frame, const char *camera, int64_t seconds, struct error *error)
{
    uint32_t scale = letters_scale(frame->layout.width);
    char name[LINE_CHARACTERS + 1], time[32];
    int64_t top = ((int64_t)frame->layout.height - 3 * LINE_ADVANCE * (int64_t)scale) / 2;

    int r = frame_begin_cpu_access(frame, error);
    if (r < 0)
        return r;
    memset(frame_plane(frame, 0), LUMA_GROUND,
           frame->layout.planes[0].stride * frame->layout.planes[0].rows);
    memset(frame_plane(frame, 1), CHROMA_NEUTRAL,
           frame->layout.planes[1].stride * frame->layout.planes[1].rows);
    letters_draw(frame, "NO SIGNAL", top, scale, LUMA_TITLE);
    snprintf(name, sizeof name, "%s", camera);
    letters_draw(frame, name, top + LINE_ADVANCE * (int64_t)scale, scale, LUMA_DETAIL);
    if (seconds >= 0) {
        format_time(time, sizeof time, seconds);
        letters_draw(frame, time, top + 2 * LINE_ADVANCE * (int64_t)scale, scale, LUMA_DETAIL);
    }
    return frame_end_cpu_access(frame, error);
}

static int make_pool(const struct encoder_settings *settings, struct gpu_surfaces *surfaces,
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
    if (settings->surfaces)
        r = allocator->surfaces->lay_out(allocator->context, &layout, error);
    if (r == 0) {
        r = frame_pool_new(&layout, settings->surfaces ? SLATE_SURFACES : SLATE_FRAMES, allocator,
                           ret_pool);
        if (r < 0 && !(settings->surfaces && gpu_surfaces_take_failure(surfaces, error)))
            error_set(error, r, "no memory for %ux%u pictures", layout.width, layout.height);
    }
    return r;
}

// Makes frames for the slates of an encoder with these settings, and draws the first, for its
// trial; the caller unrefs both. They lie where the encoder's other frames do, in host
// memory or in `surfaces`, because an encoder takes frames of one kind of memory. -ENOMEM, and what
// keeps surfaces from being made or drawn, with `error`.
static int slate_pool_new(const struct encoder_settings *settings, struct gpu_surfaces *surfaces,
                          const char *camera, struct error *error, struct frame_pool **ret_pool,
                          struct frame **ret_trial)
{
    _cleanup_(cleanup_frame) struct frame *trial = NULL;
    struct frame_pool *pool;
    int r = make_pool(settings, surfaces, error, &pool);

    if (r < 0)
        return r;
    trial = frame_pool_take(pool);
    r = slate_draw(trial, camera, -1, error);
    if (r < 0) {
        frame_pool_unref(pool);
        return r;
    }
    *ret_pool = pool;
    *ret_trial = TAKE(trial);
    return 0;
}

// Keeps for status which encoders were passed over, and logs what is new of it. `encoder` is the
// one that is used instead; NULL: there is none, which is logged by itself. That GStreamer lacks
// what no board has either is no news.
static void tell_trials(const struct slated_encoder_setup *setup,
                        const struct encoder_trials *trials, const struct encoder *encoder)
{
    char passed[sizeof trials->list[0].encoder];

    if (encoder) {
        snprintf(passed, sizeof passed, "%s%s", encoder_name(encoder), encoder_how(encoder));
        encoder_watches_note_success(setup->watches, passed);
    }
    for (unsigned i = 0; i < trials->count; i++) {
        const struct link_trial *trial = &trials->list[i];
        char took[32] = "";

        if (trial->missing && !(setup->expected >> trial->element & 1))
            continue;
        if (!encoder_watches_note(setup->watches, trial) || !encoder)
            continue;
        if (trial->took_ms)
            snprintf(took, sizeof took, " after %u ms", trial->took_ms);
        log_write(LOG_NOTICE, LOG_EVENT_NONE, setup->camera, NULL,
                  "encoder %s failed its trial%s: %s, using %s", trial->encoder, took,
                  trial->reason, passed);
    }
}

// Why the slates of an encoder that takes surfaces have none, "": they have.
static void tell_slates(const char *camera, const struct encoder *encoder, const struct error *why)
{
    if (why->text[0]) {
        log_write(LOG_NOTICE, LOG_EVENT_NONE, camera, NULL,
                  "pictures in nvmm memory: %s, using %s%s", why->text, encoder_name(encoder),
                  encoder_how(encoder));
    }
}

// Where there are no surfaces for slates, the encoder reads those of the view by the CPU.
int slated_encoder_make(struct slated_encoder *slated, const struct slated_encoder_setup *setup,
                        struct error *error)
{
    struct encoder_settings settings = *setup->settings;
    _cleanup_(cleanup_frame) struct frame *trial = NULL;
    struct encoder_trials trials;
    struct error why = {0};
    int r = slate_pool_new(&settings, setup->surfaces, setup->camera, &why, &slated->slate_pool,
                           &trial);

    slated->lacks_surfaces = r && settings.surfaces;
    if (slated->lacks_surfaces) {
        settings.surfaces = 0;
        r = slate_pool_new(&settings, NULL, setup->camera, error, &slated->slate_pool, &trial);
    } else if (r) {
        *error = why;
    }
    if (r)
        return r;
    r = encoder_new(&settings, trial, setup->watches, setup->output, setup->context, &trials, error,
                    &slated->encoder);
    tell_trials(setup, &trials, slated->encoder);
    if (r) {
        slated->refused = *setup->settings;
        slated->refusal = *error;
        frame_pool_unref(TAKE(slated->slate_pool));
    } else {
        slated->refused = (struct encoder_settings){0};
        tell_slates(setup->camera, slated->encoder, &why);
    }
    return r;
}

void slated_encoder_end(struct slated_encoder *slated)
{
    encoder_free(TAKE(slated->encoder));
    frame_pool_unref(TAKE(slated->slate_pool));
}

bool slated_encoder_fits(const struct slated_encoder *slated, const struct encoder_settings *wanted)
{
    struct encoder_settings have;

    if (!slated->encoder)
        return false;
    have = *encoder_get_settings(slated->encoder);
    if (encoder_can_retune(slated->encoder))
        have.bitrate_kbps = wanted->bitrate_kbps;
    if (slated->lacks_surfaces)
        have.surfaces = wanted->surfaces;
    have.jpeg_quality = wanted->jpeg_quality;
    have.keyframe_frames = wanted->keyframe_frames;
    have.failed = wanted->failed;
    return memcmp(&have, wanted, sizeof have) == 0;
}

bool slated_encoder_is_refused(const struct slated_encoder *slated,
                               const struct encoder_settings *wanted)
{
    return !slated->encoder && memcmp(&slated->refused, wanted, sizeof *wanted) == 0;
}
