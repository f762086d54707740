#include "daemon/camera/picture.h"

#include "daemon/camera/encoder.h"
#include "kernels/graph/view.h"

#include <errno.h>
#include <stdio.h>

// Frames without a mosaic: no encoder takes them as they are, so the views are done with one before
// the next comes.
#define DEMOSAIC_FRAMES 2

static bool shows_colour(const struct config_camera *camera)
{
    for (size_t i = 0; i < camera->view_count; i++) {
        if (config_view_reads_colour(&camera->views[i]))
            return true;
    }
    return false;
}

// Whether the CPU reads pictures of the layout: for a view without a kernel or one that hands them
// to its encoder as they are, or to measure motion in regions of them without a GPU.
static bool is_read_by_cpu(const struct picture_setup *setup, const struct frame_layout *layout)
{
    for (size_t i = 0; i < setup->camera->view_count; i++) {
        if (!view_reads_on_gpu(&setup->camera->views[i], layout))
            return true;
    }
    return setup->measured && !setup->means->gpu;
}

// The GPU's own memory where only the GPU reads: there a picture costs the least.
static const struct frame_allocator *choose_allocator(const struct compute_means *means,
                                                      bool read_by_cpu)
{
    return means->memory && !read_by_cpu ? gpu_memory_device_allocator(means->memory)
                                         : means->allocator;
}

static int prepare_privacy(struct picture_maker *maker, const struct picture_setup *setup,
                           struct error *error)
{
    const struct privacy_setup wanted = {.polygons = setup->camera->privacy,
                                         .count = setup->camera->privacy_count,
                                         .flip = setup->flip,
                                         .layout = setup->input};

    if (maker->allocator != setup->means->allocator) {
        frame_pool_unref(TAKE(maker->lent));
        maker->allocator = setup->means->allocator;
    }
    maker->copies = setup->copies;
    maker->shows_other = maker->privacy ? !privacy_fits(maker->privacy, &wanted) : wanted.count > 0;
    if (!maker->shows_other)
        return 0;
    privacy_free(TAKE(maker->privacy));
    return wanted.count > 0 ? privacy_new(&wanted, error, &maker->privacy) : 0;
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

    if (maker->demosaic && !demosaic_fits(maker->demosaic, &wanted))
        demosaic_free(TAKE(maker->demosaic));
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

    if (maker->flip && !flip_fits(maker->flip, &wanted))
        flip_free(TAKE(maker->flip));
    return maker->flip ? 0 : flip_new(&wanted, error, &maker->flip);
}

int picture_maker_prepare(struct picture_maker *maker, const struct picture_setup *setup,
                          struct error *error)
{
    const struct frame_layout *layout = setup->input;
    int r = prepare_privacy(maker, setup, error);

    if (r == 0)
        r = prepare_demosaic(maker, setup, error);
    if (r == 0) {
        layout = maker->demosaic ? demosaic_layout(maker->demosaic) : layout;
        r = prepare_flip(maker, setup, layout, error);
    }
    if (r == 0)
        maker->layout = maker->flip ? *flip_layout(maker->flip) : *layout;
    return r;
}

void picture_maker_finish(struct picture_maker *maker)
{
    flip_free(maker->flip);
    demosaic_free(maker->demosaic);
    privacy_free(maker->privacy);
    frame_pool_unref(maker->lent);
}

// A copy of a frame in plain memory.
static int copy_frame(struct picture_maker *maker, const struct frame *frame, struct error *error,
                      struct frame **ret_copy)
{
    int r = 0;

    if (maker->lent && !frame_layout_equal(frame_pool_layout(maker->lent), &frame->layout))
        frame_pool_unref(TAKE(maker->lent));
    if (!maker->lent)
        r = frame_pool_new(&frame->layout, ENCODER_PICTURES, maker->allocator, &maker->lent);
    if (r < 0)
        return error_set(error, r, "no memory for copies of frames");
    *ret_copy = frame_pool_take_for(maker->lent, frame);
    if (*ret_copy)
        copies_copy_frame(maker->copies, COPY_PRIVACY, *ret_copy, &frame->layout, frame->data);
    return 0;
}

int picture_maker_hide(struct picture_maker *maker, struct source *source, struct frame *frame,
                       struct error *error, struct frame **ret_frame)
{
    _cleanup_(cleanup_frame) struct frame *output = NULL;
    int r = 0;

    if (maker->privacy && frame->lent) {
        r = copy_frame(maker, frame, error, &output);
        source->counters.dropped += r == 0 && !output;
    } else {
        output = frame_ref(frame);
    }
    if (maker->privacy && output) {
        r = privacy_apply(maker->privacy, output, error);
        source->surface_failed |= r < 0 && frame->surface;
    }
    if (r < 0)
        return error_prefix(error, r, "blackening what is private");
    *ret_frame = TAKE(output);
    return 0;
}

bool picture_maker_is_used(const struct picture_maker *maker)
{
    return maker->demosaic || maker->flip;
}

int picture_maker_run(struct picture_maker *maker, struct source *source, struct frame *frame,
                      struct error *error, struct frame **ret_picture)
{
    _cleanup_(cleanup_frame) struct frame *developed = NULL;
    int r = maker->demosaic ? demosaic_run(maker->demosaic, frame, error, &developed) : 0;

    if (r == 0 && !maker->flip)
        *ret_picture = TAKE(developed);
    else if (r == 0)
        r = flip_run(maker->flip, developed ? developed : frame, error, ret_picture);
    if (r == 0 && maker->flip)
        copies_count(maker->copies, COPY_FLIP);
    source->counters.dropped += r == -ENOBUFS;
    return r == -ENOBUFS ? 0 : r;
}

void picture_maker_describe(const struct picture_maker *maker, char *ret_text, size_t size)
{
    snprintf(ret_text, size, "%s%s%s", maker->demosaic ? " -> demosaic" : "",
             maker->flip ? " -> flip " : "", maker->flip ? config_flip_name(maker->direction) : "");
}
