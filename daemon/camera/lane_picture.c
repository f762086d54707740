// What frames go through before the views see them: the demosaic of a sensor's raw samples, and the
// flip where the source does not do it.
#include "daemon/camera/encoder.h"
#include "daemon/camera/lane_private.h"

#include <errno.h>
#include <stdio.h>

// Frames without a mosaic: no encoder takes them as they are, so the views are done with one before
// the next comes.
#define DEMOSAIC_FRAMES 2

static bool shows_colour(const struct config_camera *camera)
{
    for (size_t i = 0; i < camera->view_count; i++) {
        if (config_view_reads_colour(&camera->views[i])) {
            return true;
        }
    }
    return false;
}

static int prepare_demosaic(struct lane *lane, const struct frame_layout *input,
                            struct error *error)
{
    const struct config_camera *camera = settings_camera(lane->environment.channels->settings);
    const struct demosaic_setup setup = {.input = input,
                                         .colour = shows_colour(camera),
                                         .frames = DEMOSAIC_FRAMES,
                                         .allocator = lane->means.allocator,
                                         .gpu = lane->means.gpu,
                                         .pool = lane->environment.pool};
    bool wanted = input->format->mosaic.bits > 0;

    if (lane->demosaic && (!wanted || !demosaic_fits(lane->demosaic, &setup))) {
        demosaic_free(TAKE(lane->demosaic));
    }
    return !lane->demosaic && wanted ? demosaic_new(&setup, error, &lane->demosaic) : 0;
}

static int prepare_flip(struct lane *lane, enum config_flip flip, const struct frame_layout *input,
                        struct error *error)
{
    const struct flip_setup setup = {.flip = flip,
                                     .input = input,
                                     .frames = ENCODER_PICTURES,
                                     .allocator = lane->means.allocator,
                                     .gpu = lane->means.gpu,
                                     .pool = lane->environment.pool};

    if (lane->flip && !flip_fits(lane->flip, &setup)) {
        flip_free(TAKE(lane->flip));
    }
    return !lane->flip && flip != CONFIG_FLIP_NONE ? flip_new(&setup, error, &lane->flip) : 0;
}

int lane_prepare_picture(struct lane *lane, const struct source_mode *mode, struct error *error)
{
    enum config_flip flip = mode->flipped ? CONFIG_FLIP_NONE : lane->environment.camera->flip;
    const struct frame_layout *layout = &mode->layout;
    int r = prepare_demosaic(lane, layout, error);

    if (r == 0) {
        layout = lane->demosaic ? demosaic_layout(lane->demosaic) : layout;
        r = prepare_flip(lane, flip, layout, error);
    }
    if (r == 0) {
        lane->layout = lane->flip ? *flip_layout(lane->flip) : *layout;
    }
    return r;
}

bool lane_makes_pictures(const struct lane *lane)
{
    return lane->demosaic || lane->flip;
}

static int make_picture(struct lane *lane, struct frame *frame, struct error *error,
                        struct frame **ret_picture)
{
    _cleanup_(cleanup_frame) struct frame *developed = NULL;
    int r = lane->demosaic ? demosaic_run(lane->demosaic, frame, error, &developed) : 0;

    if (r == 0 && !lane->flip) {
        *ret_picture = TAKE(developed);
    } else if (r == 0) {
        r = flip_run(lane->flip, developed ? developed : frame, error, ret_picture);
    }
    return r;
}

int lane_make_picture(struct lane *lane, struct frame *frame, struct error *error,
                      struct frame **ret_picture)
{
    int r = make_picture(lane, frame, error, ret_picture);

    if (r == -ENOBUFS) {
        lane->source->counters.dropped++;
        r = 0;
    } else if (r == 0 && lane->flip) {
        copies_count(lane->environment.copies, COPY_FLIP);
    }
    return r && lane->means.gpu ? -ENOTRECOVERABLE : r;
}

void lane_describe_picture(const struct lane *lane, char *ret_text, size_t size)
{
    const char *flip = config_flip_name(lane->environment.camera->flip);

    snprintf(ret_text, size, "%s%s%s", lane->demosaic ? " -> demosaic" : "",
             lane->flip ? " -> flip " : "", lane->flip ? flip : "");
}
