#include "daemon/camera/slated_encoder.h"

#include "capture/frame_pool.h"
#include "daemon/camera/slate.h"
#include "daemon/common/log.h"

#include <errno.h>
#include <string.h>

// Logs, if there is something to tell, why surfaces do not go into the encoder in the best way, and
// how they do.
static void tell_way(const char *camera, const struct encoder *encoder, const struct error *why)
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
    struct error why = {0}, ways = {0};
    int r = slate_pool_new(&settings, setup->surfaces, setup->camera, &why, &slated->slate_pool,
                           &trial);

    slated->lacks_surfaces = r && settings.surfaces;
    if (slated->lacks_surfaces) {
        settings.surfaces = 0;
        r = slate_pool_new(&settings, NULL, setup->camera, error, &slated->slate_pool, &trial);
    } else if (r) {
        *error = why;
    }
    if (r) {
        return r;
    }
    r = encoder_new(&settings, trial, setup->watches, setup->output, setup->context, &ways,
                    &slated->encoder);
    if (r) {
        *error = ways;
        slated->refused = *setup->settings;
        slated->refusal = *error;
        frame_pool_unref(TAKE(slated->slate_pool));
    } else {
        slated->refused = (struct encoder_settings){0};
        tell_way(setup->camera, slated->encoder, ways.text[0] ? &ways : &why);
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

    if (!slated->encoder) {
        return false;
    }
    have = *encoder_get_settings(slated->encoder);
    if (encoder_can_retune(slated->encoder)) {
        have.bitrate_kbps = wanted->bitrate_kbps;
    }
    if (slated->lacks_surfaces) {
        have.surfaces = wanted->surfaces;
    }
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
