// The lane's flip: what turns frames the right way up where the source does not.
#include "daemon/camera/encoder.h"
#include "daemon/camera/lane_private.h"

#include <errno.h>
#include <stdio.h>

int lane_prepare_flip(struct lane *lane, const struct source_mode *mode, struct error *error)
{
    const struct flip_setup setup = {.flip = mode->flipped ? CONFIG_FLIP_NONE
                                                           : lane->environment.camera->flip,
                                     .input = &mode->layout,
                                     .frames = ENCODER_PICTURES,
                                     .allocator = lane->means.allocator,
                                     .gpu = lane->means.gpu,
                                     .pool = lane->environment.pool};
    int r = 0;

    if (lane->flip && !flip_fits(lane->flip, &setup)) {
        flip_free(TAKE(lane->flip));
    }
    if (!lane->flip && setup.flip != CONFIG_FLIP_NONE) {
        r = flip_new(&setup, error, &lane->flip);
    }
    if (r == 0) {
        lane->layout = lane->flip ? *flip_layout(lane->flip) : mode->layout;
    }
    return r;
}

int lane_flip_frame(struct lane *lane, struct frame *frame, struct error *error,
                    struct frame **ret_flipped)
{
    int r = flip_run(lane->flip, frame, error, ret_flipped);

    if (r == -ENOBUFS) {
        lane->source->counters.dropped++;
        r = 0;
    } else if (r == 0) {
        copies_count(lane->environment.copies, COPY_FLIP);
    }
    return r && lane->means.gpu ? -ENOTRECOVERABLE : r;
}

void lane_describe_flip(const struct lane *lane, char *ret_text, size_t size)
{
    ret_text[0] = '\0';
    if (lane->flip) {
        snprintf(ret_text, size, " -> flip %s", config_flip_name(lane->environment.camera->flip));
    }
}
