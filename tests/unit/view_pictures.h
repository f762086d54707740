// Small pictures for views, and what becomes of them, worked by hand.
#pragma once

#include "tests/unit/unit.h"

#include "kernels/graph/view.h"

#include <string.h>

#define EDGES(norm_, gain_)                                                                        \
    {                                                                                              \
        .view = CONFIG_VIEW_EDGES, .norm = (norm_), .gain = (gain_)                                \
    }

static const struct config_view camera_view = {.view = CONFIG_VIEW_CAMERA};
static const struct config_view gray_view = {.view = CONFIG_VIEW_GRAY};
static const struct config_view edges_view = EDGES(CONFIG_NORM_L2, 1.0);
static const struct config_view edges_l1_view = EDGES(CONFIG_NORM_L1, 1.0);
static const struct config_view edges_half_view = EDGES(CONFIG_NORM_L1, 0.0125);

// The plane 10 + 10 x + 30 y. Inside, gx is 8 * 10 and gy 8 * 30; in a border column gx is half of
// that, in a border row gy.
static const uint8_t ramp[9] = {10, 20, 30, 40, 50, 60, 70, 80, 90};
static const uint8_t ramp_l2[9] = {126, 144, 126, 243, 253, 243, 126, 144, 126};
static const uint8_t ramp_l1[9] = {160, 200, 160, 255, 255, 255, 160, 200, 160};
// 0.0125 of the sums 160, 200, 280, 320: 2, 2.5, 3.5, 4, halves to even.
static const uint8_t ramp_half[9] = {2, 2, 2, 4, 4, 4, 2, 2, 2};
// 16 + 219 m / 255 rounded, of ramp_l2.
static const uint8_t ramp_l2_luma[9] = {124, 140, 124, 225, 233, 225, 124, 140, 124};

// A frame whose rows lie `padding` bytes further apart than they need, garbage in between.
static inline struct frame *new_frame(const char *format, uint32_t width, uint32_t height,
                                      size_t padding)
{
    struct frame_layout layout;
    struct frame_pool *pool;
    struct frame *frame;
    size_t size = 0;

    frame_layout_init(&layout, pixel_format_by_name(format), width, height, 1);
    for (unsigned i = 0; i < layout.format->plane_count; i++) {
        layout.planes[i].offset = size + padding;
        layout.planes[i].stride += padding;
        size += padding + layout.planes[i].stride * layout.planes[i].rows;
    }
    layout.size = size;
    assert_int_equal(frame_pool_new(&layout, 1, frame_allocator_host(), &pool), 0);
    frame = frame_pool_take(pool);
    frame_pool_unref(pool);
    memset(frame->data, 0xee, size);
    return frame;
}

static inline void set_row(struct frame *frame, unsigned plane, uint32_t y, const void *bytes)
{
    memcpy(frame_plane(frame, plane) + y * frame->layout.planes[plane].stride, bytes,
           frame->layout.planes[plane].width_bytes);
}

static inline void assert_row(const struct frame *frame, unsigned plane, uint32_t y,
                              const void *bytes, size_t count)
{
    assert_memory_equal(frame_plane(frame, plane) + y * frame->layout.planes[plane].stride, bytes,
                        count);
}

// The same layout, and the same bytes in all rows of all planes.
static inline void assert_same_picture(const struct frame *frame, const struct frame *expected)
{
    assert_true(frame_layout_equal(&frame->layout, &expected->layout));
    for (unsigned plane = 0; plane < frame->layout.format->plane_count; plane++) {
        size_t stride = frame->layout.planes[plane].stride;

        for (uint32_t y = 0; y < frame->layout.planes[plane].rows; y++) {
            assert_row(frame, plane, y, frame_plane(expected, plane) + y * stride,
                       frame->layout.planes[plane].width_bytes);
        }
    }
}

static inline void assert_pixels(const struct frame *frame, const uint8_t *expected)
{
    for (uint32_t y = 0; y < 3; y++)
        assert_row(frame, 0, y, expected + (size_t)3 * y, 3);
}

// The ramp as luma of any YUV format.
static inline struct frame *new_ramp(const char *name, size_t padding)
{
    struct frame *frame = new_frame(name, 3, 3, padding);
    const struct pixel_format *format = frame->layout.format;

    for (uint32_t i = 0; i < 9; i++) {
        frame_plane(frame, 0)[i / 3 * frame->layout.planes[0].stride + format->luma_offset +
                              i % 3 * format->luma_step] = ramp[i];
    }
    return frame;
}

// One picture through a view of its own; the input is dropped.
static inline struct frame *compute(const struct config_view *settings, struct frame *input,
                                    enum view_output kind)
{
    struct view *view;
    struct frame *output;
    const struct view_setup setup = {.settings = settings,
                                     .input = &input->layout,
                                     .output = kind,
                                     .frames = 1,
                                     .allocator = frame_allocator_host()};

    assert_int_equal(view_new(&setup, NULL, &view), 0);
    assert_int_equal(view_run(view, input, NULL, &output), 0);
    assert_true(frame_layout_equal(view_output_layout(view), &output->layout));
    view_free(view);
    frame_unref(input);
    return output;
}
