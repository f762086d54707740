// The lane's flip: what turns frames the right way up where the source does not.
#include "daemon/camera/encoder.h"
#include "daemon/camera/lane_private.h"
#include "kernels/graph/plan.h"

#include <errno.h>
#include <stdio.h>

// Whether a view hands flipped frames to its encoder as they are, or motion in regions of them is
// watched.
static bool cpu_reads_flipped(const struct lane *lane, enum config_flip flip,
                              const struct frame_layout *input)
{
    const struct config_camera *camera = settings_camera(lane->environment.channels->settings);
    struct frame_layout layout;

    flip_layout_init(&layout, flip, input);
    for (size_t i = 0; i < camera->view_count; i++) {
        if (plan_make(&camera->views[i], layout.format, VIEW_OUTPUT_STREAM).count == 0) {
            return true;
        }
    }
    return motion_watch_region(lane->environment.motion_watch, 0);
}

// The GPU's own memory where only the GPU reads: there a flip costs the least.
static const struct frame_allocator *
choose_allocator(const struct lane *lane, enum config_flip flip, const struct frame_layout *input)
{
    return lane->means.memory && flip != CONFIG_FLIP_NONE && !cpu_reads_flipped(lane, flip, input)
               ? gpu_memory_device_allocator(lane->means.memory)
               : lane->means.allocator;
}

int lane_prepare_flip(struct lane *lane, const struct source_mode *mode, struct error *error)
{
    enum config_flip flip = mode->flipped ? CONFIG_FLIP_NONE : lane->environment.camera->flip;
    const struct flip_setup setup = {.flip = flip,
                                     .input = &mode->layout,
                                     .frames = ENCODER_PICTURES,
                                     .allocator = choose_allocator(lane, flip, &mode->layout),
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
