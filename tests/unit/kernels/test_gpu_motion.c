// The motion view on the GPU, frame after frame, beside the CPU's.
#include "tests/unit/kernels/gpu_view_bed.h"

#include <string.h>

#define FRAMES 4

// Noise in which squares of every size come and go from frame to frame.
static void draw_frame(struct frame *frame, unsigned number, uint32_t seed)
{
    const struct frame_layout *layout = &frame->layout;

    gpu_view_draw(frame, seed);
    for (unsigned plane = 0; plane < layout->format->plane_count; plane++) {
        for (uint32_t y = 0; y < layout->planes[plane].rows; y++) {
            uint8_t *row = frame_plane(frame, plane) + y * layout->planes[plane].stride;

            for (uint32_t x = 0; x < layout->planes[plane].width_bytes; x++) {
                uint32_t square = x / 23 * 31 + y / 19 * 17;

                row[x] = (uint8_t)(row[x] + ((square + number) % 3 == 0 ? 26 + square % 50 : 0) +
                                   ((x * 7 + y * 13 + number) % 41 == 0 ? 120 : 0));
            }
        }
    }
}

struct motion_case {
    const char *format;
    enum frame_range range;
    int threshold, erode;
    uint32_t width, height;
};

static void make_views(struct gpu_view_bed *bed, const struct motion_case *c)
{
    const struct config_view settings = {
        .view = CONFIG_VIEW_MOTION,
        .threshold = c->threshold,
        .erode = c->erode,
        .mark = (c->width + (uint32_t)c->erode) % 2 ? CONFIG_MARK_RED : CONFIG_MARK_TINT};
    struct view_setup setup = {.settings = &settings, .allocator = frame_allocator_host()};
    struct frame_layout layout;

    frame_layout_init(&layout, pixel_format_by_name(c->format), c->width, c->height, 16);
    layout.range = c->range;
    if (layout.format->luma_step != 0 && c->width % 2 == 1) {
        layout.colour.matrix = COLOUR_BT709;
    }
    setup.input = &layout;
    assert_int_equal(view_new(&setup, NULL, &bed->reference), 0);
    setup.allocator = gpu_memory_allocator(bed->memory);
    setup.gpu = bed->gpu;
    assert_int_equal(view_new(&setup, NULL, &bed->view), 0);
    assert_string_equal(view_backend(bed->view), "CUDA sm_87");
    assert_int_equal(frame_pool_new(&layout, 1, setup.allocator, &bed->pool), 0);
}

static void compare_frames(struct gpu_view_bed *bed, uint32_t seed)
{
    for (unsigned i = 0; i < FRAMES; i++) {
        struct frame *input = frame_pool_take(bed->pool), *output, *expected;
        struct error error = {0};

        draw_frame(input, i, seed);
        if (view_run(bed->view, input, &error, &output) < 0) {
            fail_msg("%s", error.text);
        }
        assert_int_equal(view_run(bed->reference, input, &error, &expected), 0);
        assert_true(gpu_view_equal(output, expected));
        frame_unref(expected);
        frame_unref(output);
        frame_unref(input);
    }
}

static void compare(const struct motion_case *c)
{
    struct gpu_view_bed bed = {0};

    fake_gpu_play("board=orin-nano");
    assert_int_equal(gpu_new(NULL, &bed.gpu), 0);
    assert_int_equal(gpu_memory_new(bed.gpu, CONFIG_MEMORY_AUTO, NULL, &bed.memory), 0);
    make_views(&bed, c);
    compare_frames(&bed, c->width * 31 + c->height);
    gpu_view_bed_finish(&bed);
    assert_int_equal(fake_gpu_leaks(), 0);
}

TEST(test_motion_of_every_format_is_the_cpus)
{
    const struct pixel_format *format;

    for (size_t f = 0; (format = pixel_format_at(f)); f++) {
        for (size_t i = 0; i < 4; i++) {
            const struct motion_case c = {.format = format->name,
                                          .range = i < 2 ? FRAME_RANGE_LIMITED : FRAME_RANGE_FULL,
                                          .threshold = 25,
                                          .erode = (int)i,
                                          .width = 93 + (uint32_t)f,
                                          .height = 40 + (uint32_t)i};

            compare(&c);
        }
    }
}

TEST(test_motion_of_any_size_threshold_and_erosion_is_the_cpus)
{
    static const uint32_t sizes[][2] = {{1, 1},   {2, 2},  {3, 5},   {8, 8},   {9, 17},
                                        {17, 33}, {64, 1}, {1, 100}, {200, 61}};

    for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
        for (int erode = 0; erode <= 8; erode += 2) {
            const struct motion_case c = {.format = i % 2 ? "NV12" : "YUYV",
                                          .threshold = 1 + (int)i * 31,
                                          .erode = erode,
                                          .width = sizes[i][0],
                                          .height = sizes[i][1]};

            compare(&c);
        }
    }
}

RUN_TESTS(NULL, NULL)
