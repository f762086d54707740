// A view that computes on the GPU, beside the same view on the CPU, and pictures for both.
#pragma once

#include "kernels/gpu/gpu_kernel.h"
#include "kernels/gpu/gpu_memory.h"
#include "kernels/graph/view.h"
#include "kernels/selftest/gpu_selftest.h"
#include "tests/unit/fake_gpu.h"

struct gpu_view_bed {
    struct gpu *gpu;
    struct gpu_memory *memory;
    struct frame_pool *pool; // of the camera's frames, in the GPU's memory
    struct view *view, *reference;
    void (*draw)(struct frame *frame, uint32_t seed);
};

struct gpu_view_case {
    const char *options; // of the driver
    enum config_memory memory;
    const char *format;
    enum config_view_kind kind;
    enum config_norm norm;
    double gain;
    double low, high;
    uint32_t width, height;
    enum view_output output;
    void (*draw)(struct frame *frame, uint32_t seed); // NULL: gpu_view_draw()
    enum config_operator op;
    int blur, threshold;
    enum config_morphology morphology;
    int times;
    enum config_thresholds thresholds;
    const char *left, *right; // of a split
    enum frame_range range;   // of the camera's
};

// Noise with whole-contrast edges in it, the same for the same seed.
static inline void gpu_view_draw(struct frame *frame, uint32_t seed)
{
    for (size_t i = 0; i < frame->layout.size; i++) {
        seed = seed * 1664525 + 1013904223;
        frame->data[i] = (uint8_t)(i / 97 % 3 == 0 ? seed >> 31 ? 255 : 0 : seed >> 24);
    }
}

static inline void gpu_view_bed_finish(struct gpu_view_bed *bed)
{
    view_free(bed->view);
    view_free(bed->reference);
    frame_pool_unref(bed->pool);
    gpu_memory_free(bed->memory);
    gpu_free(bed->gpu);
    *bed = (struct gpu_view_bed){0};
}

static inline int gpu_view_bed_views(struct gpu_view_bed *bed, const struct gpu_view_case *c,
                                     struct error *error)
{
    const struct config_view settings = {.view = c->kind,
                                         .norm = c->norm,
                                         .gain = c->gain,
                                         .op = c->op,
                                         .blur = c->blur,
                                         .threshold = c->threshold,
                                         .morphology = c->morphology,
                                         .times = c->times,
                                         .thresholds = c->thresholds,
                                         .low = c->low,
                                         .high = c->high,
                                         .colour = (char *)"#ff8010",
                                         .left = (char *)c->left,
                                         .right = (char *)c->right};
    struct view_setup setup = {.settings = &settings,
                               .output = c->output,
                               .frames = 2,
                               .allocator = frame_allocator_host()};
    struct frame_layout layout;
    int r;

    frame_layout_init(&layout, pixel_format_by_name(c->format), c->width, c->height, 16);
    layout.range = c->range;
    if (layout.format->luma_step != 0 && c->width % 2 == 1)
        layout.colour.matrix = COLOUR_BT709;
    setup.input = &layout;
    r = view_new(&setup, error, &bed->reference);
    if (r == 0) {
        setup.allocator = gpu_memory_allocator(bed->memory);
        setup.gpu = gpu_memory_kind(bed->memory) == CONFIG_MEMORY_HOST ? NULL : bed->gpu;
        r = view_new(&setup, error, &bed->view);
    }
    if (r == 0) {
        r = frame_pool_new(&layout, 2, setup.allocator, &bed->pool);
        r = r < 0 ? error_set(error, r, "no memory for the camera's frames") : 0;
    }
    return r;
}

// Everything, with a driver that was just loaded. Whatever the result, finish it.
static inline int gpu_view_bed_init(struct gpu_view_bed *bed, const struct gpu_view_case *c,
                                    struct error *error)
{
    int r;

    *bed = (struct gpu_view_bed){.draw = c->draw ? c->draw : gpu_view_draw};
    fake_gpu_play(c->options);
    r = gpu_new(error, &bed->gpu);
    r = r < 0 ? r : gpu_selftest_start(bed->gpu, error);
    r = r < 0 ? r : gpu_memory_new(bed->gpu, c->memory, error, &bed->memory);
    return r < 0 ? r : gpu_view_bed_views(bed, c, error);
}

static inline bool gpu_view_equal(const struct frame *a, const struct frame *b)
{
    for (unsigned i = 0; i < a->layout.format->plane_count; i++) {
        for (uint32_t y = 0; y < a->layout.planes[i].rows; y++) {
            if (memcmp(frame_plane(a, i) + y * a->layout.planes[i].stride,
                       frame_plane(b, i) + y * b->layout.planes[i].stride,
                       a->layout.planes[i].width_bytes) != 0) {
                return false;
            }
        }
    }
    return true;
}

// One picture through both views: they agree. Else the view's error.
static inline int gpu_view_bed_run(struct gpu_view_bed *bed, uint32_t seed, struct error *error)
{
    struct frame *input = frame_pool_take(bed->pool), *output = NULL, *expected = NULL;
    int r;

    bed->draw(input, seed);
    r = view_run(bed->view, input, error, &output);
    if (r == 0) {
        assert_int_equal(view_run(bed->reference, input, error, &expected), 0);
        assert_true(gpu_view_equal(output, expected));
    }
    frame_unref(expected);
    frame_unref(output);
    frame_unref(input);
    return r;
}
