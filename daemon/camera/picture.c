#include "daemon/camera/picture.h"

#include "daemon/camera/encoder.h"
#include "kernels/graph/view.h"

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
static bool is_read_by_cpu(const struct picture_setup *setup, const struct frame_layout *layout)
{
    for (size_t i = 0; i < setup->camera->view_count; i++) {
        if (!view_reads_on_gpu(&setup->camera->views[i], layout)) {
            return true;
        }
    }
    return setup->measured;
}

// The GPU's own memory where only the GPU reads: there a picture costs the least.
static const struct frame_allocator *choose_allocator(const struct compute_means *means,
                                                      bool read_by_cpu)
{
    return means->memory && !read_by_cpu ? gpu_memory_device_allocator(means->memory)
                                         : means->allocator;
}

static int prepare_demosaic(struct picture_maker *maker, const struct picture_setup *setup,
                            struct error *error)
{
    const struct frame_layout *input = setup->input;
    bool colour = shows_colour(setup->camera);
    struct frame_layout layout;

    if (input->format->mosaic.bits == 0) {
        demosaic_free(TAKE(maker->demosaic));
        return 0;
    }
    frame_layout_init(&layout, pixel_format_by_name(colour ? "RGB3" : "GREY"), input->width,
                      input->height, FRAME_STRIDE_ALIGN);
    bool read_by_cpu = setup->flip == CONFIG_FLIP_NONE && is_read_by_cpu(setup, &layout);
    const struct demosaic_setup wanted = {.input = input,
                                          .colour = colour,
                                          .frames = DEMOSAIC_FRAMES,
                                          .allocator = choose_allocator(setup->means, read_by_cpu),
                                          .gpu = setup->means->gpu,
                                          .pool = setup->pool};

    if (maker->demosaic && !demosaic_fits(maker->demosaic, &wanted)) {
        demosaic_free(TAKE(maker->demosaic));
    }
    return maker->demosaic ? 0 : demosaic_new(&wanted, error, &maker->demosaic);
}

static int prepare_flip(struct picture_maker *maker, const struct picture_setup *setup,
                        const struct frame_layout *input, struct error *error)
{
    struct frame_layout layout;

    maker->direction = setup->flip;
    if (setup->flip == CONFIG_FLIP_NONE) {
        flip_free(TAKE(maker->flip));
        return 0;
    }
    flip_layout_init(&layout, setup->flip, input);
    const struct flip_setup wanted = {
        .flip = setup->flip,
        .input = input,
        .frames = ENCODER_PICTURES,
        .allocator = choose_allocator(setup->means, is_read_by_cpu(setup, &layout)),
        .gpu = setup->means->gpu,
        .pool = setup->pool};

    if (maker->flip && !flip_fits(maker->flip, &wanted)) {
        flip_free(TAKE(maker->flip));
    }
    return maker->flip ? 0 : flip_new(&wanted, error, &maker->flip);
}

int picture_maker_prepare(struct picture_maker *maker, const struct picture_setup *setup,
                          struct error *error)
{
    const struct frame_layout *layout = setup->input;
    int r = prepare_demosaic(maker, setup, error);

    if (r == 0) {
        layout = maker->demosaic ? demosaic_layout(maker->demosaic) : layout;
        r = prepare_flip(maker, setup, layout, error);
    }
    if (r == 0) {
        maker->layout = maker->flip ? *flip_layout(maker->flip) : *layout;
    }
    return r;
}

void picture_maker_finish(struct picture_maker *maker)
{
    flip_free(maker->flip);
    demosaic_free(maker->demosaic);
}

bool picture_maker_is_used(const struct picture_maker *maker)
{
    return maker->demosaic || maker->flip;
}

int picture_maker_run(struct picture_maker *maker, struct frame *frame, struct error *error,
                      struct frame **ret_picture)
{
    _cleanup_(cleanup_frame) struct frame *developed = NULL;
    int r = maker->demosaic ? demosaic_run(maker->demosaic, frame, error, &developed) : 0;

    if (r == 0 && !maker->flip) {
        *ret_picture = TAKE(developed);
    } else if (r == 0) {
        r = flip_run(maker->flip, developed ? developed : frame, error, ret_picture);
    }
    return r;
}

void picture_maker_describe(const struct picture_maker *maker, char *ret_text, size_t size)
{
    snprintf(ret_text, size, "%s%s%s", maker->demosaic ? " -> demosaic" : "",
             maker->flip ? " -> flip " : "", maker->flip ? config_flip_name(maker->direction) : "");
}
