// Pictures for tests of views, with rows and planes at awkward places, and one run of a view.
#pragma once

#include "tests/unit/unit.h"

#include "kernels/view.h"

#include <string.h>

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
