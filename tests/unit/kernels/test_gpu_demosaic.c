// Demosaics by the GPU: pictures that are still being made, and launches that fail.
#include "tests/unit/kernels/gpu_view_bed.h"

#include "kernels/demosaic/demosaic.h"

#include <errno.h>

struct demosaic_bed {
    struct gpu *gpu;
    struct gpu_memory *memory;
};

static void demosaic_bed_init(struct demosaic_bed *bed, const char *options,
                              enum config_memory memory)
{
    fake_gpu_play(options);
    assert_int_equal(gpu_new(NULL, &bed->gpu), 0);
    assert_int_equal(gpu_memory_new(bed->gpu, memory, NULL, &bed->memory), 0);
    assert_int_equal(gpu_memory_kind(bed->memory), memory);
}

static void demosaic_bed_finish(struct demosaic_bed *bed)
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

TEST(test_a_view_reads_what_the_gpu_has_just_begun_in_its_own_memory)
{
    const struct config_view edges = {.view = CONFIG_VIEW_EDGES, .gain = 1};
    struct demosaic_bed bed;
    struct frame_layout layout;
    struct frame *outputs[2];

    demosaic_bed_init(&bed, "board=orin-nano", CONFIG_MEMORY_REGISTERED);
    frame_layout_init(&layout, pixel_format_by_name("pGAA"), 98, 52, 16);
    for (unsigned i = 0; i < 2; i++) {
        const struct frame_allocator *host = frame_allocator_host();
        const struct frame_allocator *shared = i ? host : gpu_memory_allocator(bed.memory);
        struct gpu *gpu = i ? NULL : bed.gpu;
        struct frame *input = take_frame(&layout, shared), *made;
        const struct demosaic_setup setup = {.input = &layout,
                                             .frames = 1,
                                             .allocator =
                                                 i ? host : gpu_memory_device_allocator(bed.memory),
                                             .gpu = gpu};
        struct demosaic *demosaic;
        struct view *view;

        assert_int_equal(demosaic_new(&setup, NULL, &demosaic), 0);
        const struct view_setup behind = {.settings = &edges,
                                          .input = demosaic_layout(demosaic),
                                          .frames = 1,
                                          .allocator = shared,
                                          .gpu = gpu};
        assert_int_equal(view_new(&behind, NULL, &view), 0);
        assert_int_equal(demosaic_run(demosaic, input, NULL, &made), 0);
        assert_int_equal(view_run(view, made, NULL, &outputs[i]), 0);
        assert_int_equal(frame_to_cpu(input, NULL), 0);
        view_free(view);
        demosaic_free(demosaic);
        frame_unref(made);
        frame_unref(input);
    }
    assert_true(gpu_view_equal(outputs[0], outputs[1]));
    frame_unref(outputs[0]);
    frame_unref(outputs[1]);
    demosaic_bed_finish(&bed);
}

TEST(test_a_launch_that_fails_leaves_no_picture_and_no_leak)
{
    struct demosaic_bed bed;
    struct frame_layout layout;
    struct demosaic *demosaic;
    struct error error = {0};
    int r = 0;

    demosaic_bed_init(&bed, "board=orin-nano,fail=cuLaunchKernel:4:999", CONFIG_MEMORY_REGISTERED);
    frame_layout_init(&layout, pixel_format_by_name("RG10"), 16, 16, 16);
    struct frame *input = take_frame(&layout, gpu_memory_allocator(bed.memory)), *output = NULL;
    const struct demosaic_setup setup = {.input = &layout,
                                         .colour = true,
                                         .frames = 1,
                                         .allocator = gpu_memory_allocator(bed.memory),
                                         .gpu = bed.gpu};
    assert_int_equal(demosaic_new(&setup, NULL, &demosaic), 0);
    for (unsigned i = 0; i < 5 && r == 0; i++) {
        r = demosaic_run(demosaic, input, &error, &output);
        if (r == 0) {
            assert_int_equal(frame_to_cpu(output, NULL), 0);
            frame_unref(output);
        }
    }
    assert_int_equal(r, -EIO);
    assert_int_equal(frame_to_cpu(input, NULL), 0);
    demosaic_free(demosaic);
    frame_unref(input);
    demosaic_bed_finish(&bed);
}

RUN_TESTS(NULL, fake_gpu_end)
