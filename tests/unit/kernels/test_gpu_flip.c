// Flips by the GPU: pictures that are still being made, and launches that fail.
#include "tests/unit/kernels/gpu_view_bed.h"

#include "kernels/flip/flip.h"

#include <errno.h>

struct flip_bed {
    struct gpu *gpu;
    struct gpu_memory *memory;
};

static void flip_bed_init(struct flip_bed *bed, const char *options, enum config_memory memory)
{
    fake_gpu_play(options);
    assert_int_equal(gpu_new(NULL, &bed->gpu), 0);
    assert_int_equal(gpu_memory_new(bed->gpu, memory, NULL, &bed->memory), 0);
    assert_int_equal(gpu_memory_kind(bed->memory), memory);
}

static void flip_bed_finish(struct flip_bed *bed)
{
    gpu_memory_free(bed->memory);
    gpu_free(bed->gpu);
    assert_int_equal(fake_gpu_leaks(), 0);
}

static struct frame *take_frame(const struct frame_layout *layout,
                                const struct frame_allocator *allocator)
{
    struct frame_pool *pool;
    struct frame *frame;

    assert_int_equal(frame_pool_new(layout, 1, allocator, &pool), 0);
    frame = frame_pool_take(pool);
    frame_pool_unref(pool);
    gpu_view_draw(frame, layout->width * 31 + layout->height);
    return frame;
}

// `own_memory`: of the GPU, in which the flipped picture is.
static void see_flipped(bool own_memory)
{
    const struct config_view edges = {.view = CONFIG_VIEW_EDGES, .gain = 1};
    struct flip_bed bed;
    struct frame_layout layout;
    struct frame *outputs[2];

    flip_bed_init(&bed, "board=orin-nano", CONFIG_MEMORY_REGISTERED);
    frame_layout_init(&layout, pixel_format_by_name("YUYV"), 98, 52, 16);
    for (unsigned i = 0; i < 2; i++) {
        const struct frame_allocator *allocator =
            i ? frame_allocator_host() : gpu_memory_allocator(bed.memory);
        struct gpu *gpu = i ? NULL : bed.gpu;
        struct frame *input = take_frame(&layout, allocator), *flipped;
        const struct flip_setup setup = {
            .flip = CONFIG_FLIP_ROTATE_90,
            .input = &layout,
            .frames = 1,
            .allocator = own_memory && !i ? gpu_memory_device_allocator(bed.memory) : allocator,
            .gpu = gpu};
        struct flip *flip;
        struct view *view;

        assert_int_equal(flip_new(&setup, NULL, &flip), 0);
        const struct view_setup upright = {.settings = &edges,
                                           .input = flip_layout(flip),
                                           .frames = 1,
                                           .allocator = allocator,
                                           .gpu = gpu};
        assert_int_equal(view_new(&upright, NULL, &view), 0);
        assert_int_equal(flip_run(flip, input, NULL, &flipped), 0);
        assert_int_equal(view_run(view, flipped, NULL, &outputs[i]), 0);
        assert_int_equal(frame_to_cpu(input, NULL), 0);
        view_free(view);
        flip_free(flip);
        frame_unref(flipped);
        frame_unref(input);
    }
    assert_true(gpu_view_equal(outputs[0], outputs[1]));
    frame_unref(outputs[0]);
    frame_unref(outputs[1]);
    flip_bed_finish(&bed);
}

TEST(test_a_view_reads_a_picture_that_the_gpu_has_just_begun_to_flip)
{
    see_flipped(false);
}

TEST(test_pictures_that_only_views_read_are_flipped_into_memory_of_the_gpu)
{
    see_flipped(true);
}

TEST(test_a_launch_that_fails_leaves_no_picture_and_no_leak)
{
    struct flip_bed bed;
    struct frame_layout layout;
    struct flip *flip;
    struct error error = {0};

    flip_bed_init(&bed, "board=orin-nano,fail=cuLaunchKernel:4:999", CONFIG_MEMORY_REGISTERED);
    frame_layout_init(&layout, pixel_format_by_name("NV12"), 16, 16, 16);
    struct frame *input = take_frame(&layout, gpu_memory_allocator(bed.memory)), *output = NULL;
    const struct flip_setup setup = {.flip = CONFIG_FLIP_VERTICAL,
                                     .input = &layout,
                                     .frames = 1,
                                     .allocator = gpu_memory_allocator(bed.memory),
                                     .gpu = bed.gpu};
    assert_int_equal(flip_new(&setup, NULL, &flip), 0);
    int r = 0;
    for (unsigned i = 0; i < 5 && r == 0; i++) {
        r = flip_run(flip, input, &error, &output);
        if (r == 0) {
            assert_int_equal(frame_to_cpu(output, NULL), 0);
            frame_unref(output);
        }
    }
    assert_int_equal(r, -EIO);
    assert_int_equal(frame_to_cpu(input, NULL), 0);
    flip_free(flip);
    frame_unref(input);
    flip_bed_finish(&bed);
}

RUN_TESTS(NULL, fake_gpu_end)
