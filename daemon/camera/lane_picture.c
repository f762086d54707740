// What frames go through before the views see them: the demosaic of a sensor's raw samples, and the
// flip where the source does not do it.
#include "daemon/camera/encoder.h"
#include "daemon/camera/lane_private.h"
#include "kernels/graph/view.h"

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

// Whether the CPU reads pictures of the layout: for a view without a kernel or one that hands them
// to its encoder as they are, or because motion in regions of them is watched.
static bool is_read_by_cpu(const struct lane *lane, const struct frame_layout *layout)
{
    const struct config_camera *camera = settings_camera(lane->environment.channels->settings);

    for (size_t i = 0; i < camera->view_count; i++) {
        if (!view_reads_on_gpu(&camera->views[i], layout)) {
            return true;
        }
    }
    return motion_watch_region(lane->environment.motion_watch, 0);
}

// The GPU's own memory where only the GPU reads: there a picture costs the least.
static const struct frame_allocator *choose_allocator(const struct lane *lane, bool read_by_cpu)
{
    return lane->means.memory && !read_by_cpu ? gpu_memory_device_allocator(lane->means.memory)
                                              : lane->means.allocator;
}

static int prepare_demosaic(struct lane *lane, enum config_flip flip,
                            const struct frame_layout *input, struct error *error)
{
    bool colour = shows_colour(settings_camera(lane->environment.channels->settings));
    struct frame_layout layout;

    if (input->format->mosaic.bits == 0) {
        demosaic_free(TAKE(lane->demosaic));
        return 0;
    }
    frame_layout_init(&layout, pixel_format_by_name(colour ? "RGB3" : "GREY"), input->width,
                      input->height, FRAME_STRIDE_ALIGN);
    bool read_by_cpu = flip == CONFIG_FLIP_NONE && is_read_by_cpu(lane, &layout);
    const struct demosaic_setup setup = {.input = input,
                                         .colour = colour,
                                         .frames = DEMOSAIC_FRAMES,
                                         .allocator = choose_allocator(lane, read_by_cpu),
                                         .gpu = lane->means.gpu,
                                         .pool = lane->environment.pool};

    if (lane->demosaic && !demosaic_fits(lane->demosaic, &setup)) {
        demosaic_free(TAKE(lane->demosaic));
    }
    return lane->demosaic ? 0 : demosaic_new(&setup, error, &lane->demosaic);
}

static int prepare_flip(struct lane *lane, enum config_flip flip, const struct frame_layout *input,
                        struct error *error)
{
    struct frame_layout layout;

    if (flip == CONFIG_FLIP_NONE) {
        flip_free(TAKE(lane->flip));
        return 0;
    }
    flip_layout_init(&layout, flip, input);
    const struct flip_setup setup = {.flip = flip,
                                     .input = input,
                                     .frames = ENCODER_PICTURES,
                                     .allocator =
                                         choose_allocator(lane, is_read_by_cpu(lane, &layout)),
                                     .gpu = lane->means.gpu,
                                     .pool = lane->environment.pool};

    if (lane->flip && !flip_fits(lane->flip, &setup)) {
        flip_free(TAKE(lane->flip));
    }
    return lane->flip ? 0 : flip_new(&setup, error, &lane->flip);
}

int lane_prepare_picture(struct lane *lane, const struct source_mode *mode, struct error *error)
{
    enum config_flip flip = mode->flipped ? CONFIG_FLIP_NONE : lane->environment.camera->flip;
    const struct frame_layout *layout = &mode->layout;
    int r = prepare_demosaic(lane, flip, layout, error);

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
