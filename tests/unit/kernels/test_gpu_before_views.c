// Demosaics and flips, which the GPU makes before views read them: pictures that are still being
// made, and launches that fail.
#include "tests/unit/kernels/gpu_view_bed.h"

#include "kernels/demosaic/demosaic.h"
#include "kernels/flip/flip.h"

#include <errno.h>

struct bed {
    struct gpu *gpu;
    struct gpu_memory *memory;
};

static void bed_init(struct bed *bed, const char *options)
{
    bed->gpu = fake_gpu_open(options);
    assert_int_equal(gpu_memory_new(bed->gpu, CONFIG_MEMORY_REGISTERED, NULL, &bed->memory), 0);
    assert_int_equal(gpu_memory_kind(bed->memory), CONFIG_MEMORY_REGISTERED);
}

static void bed_finish(struct bed *bed)
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

// One of the two.
struct maker {
    struct demosaic *demosaic;
    struct flip *flip;
};

static void maker_init(struct maker *maker, const struct frame_layout *layout,
                       const struct frame_allocator *allocator, struct gpu *gpu)
{
    const struct demosaic_setup demosaic = {
        .input = layout, .frames = 1, .allocator = allocator, .gpu = gpu};
    const struct flip_setup flip = {.flip = CONFIG_FLIP_ROTATE_90,
                                    .input = layout,
                                    .frames = 1,
                                    .allocator = allocator,
                                    .gpu = gpu};

    *maker = (struct maker){0};
    assert_int_equal(layout->format->mosaic.bits ? demosaic_new(&demosaic, NULL, &maker->demosaic)
                                                 : flip_new(&flip, NULL, &maker->flip),
                     0);
}

static int maker_run(struct maker *maker, struct frame *input, struct error *error,
                     struct frame **ret_made)
{
    return maker->flip ? flip_run(maker->flip, input, error, ret_made)
                       : demosaic_run(maker->demosaic, input, error, ret_made);
}

static void maker_finish(struct maker *maker)
{
    demosaic_free(maker->demosaic);
    flip_free(maker->flip);
}

// The view's picture of what is made by the GPU, or the CPU; `own`: into memory of the GPU's own.
static struct frame *see(struct bed *bed, const struct frame_layout *layout, bool by_gpu, bool own)
{
    const struct config_view edges = {.view = CONFIG_VIEW_EDGES, .gain = 1};
    const struct frame_allocator *shared =
        by_gpu ? gpu_memory_allocator(bed->memory) : frame_allocator_host();
    struct gpu *gpu = by_gpu ? bed->gpu : NULL;
    struct frame *input = take_frame(layout, shared), *made, *output;
    struct maker maker;
    struct view *view;

    maker_init(&maker, layout, own ? gpu_memory_device_allocator(bed->memory) : shared, gpu);
    const struct view_setup behind = {.settings = &edges,
                                      .input = maker.flip ? flip_layout(maker.flip)
                                                          : demosaic_layout(maker.demosaic),
                                      .frames = 1,
                                      .allocator = shared,
                                      .gpu = gpu};
    assert_int_equal(view_new(&behind, NULL, &view), 0);
    assert_int_equal(maker_run(&maker, input, NULL, &made), 0);
    assert_int_equal(view_run(view, made, NULL, &output), 0);
    assert_int_equal(frame_to_cpu(input, NULL), 0);
    view_free(view);
    maker_finish(&maker);
    frame_unref(made);
    frame_unref(input);
    return output;
}

TEST(test_a_view_reads_what_the_gpu_has_just_begun)
{
    static const struct {
        const char *format;
        bool own;
    } cases[] = {{"pGAA", true}, {"YUYV", false}, {"YUYV", true}};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct bed bed;
        struct frame_layout layout;

        bed_init(&bed, "board=orin-nano");
        frame_layout_init(&layout, pixel_format_by_name(cases[i].format), 98, 52, 16);
        struct frame *output = see(&bed, &layout, true, cases[i].own),
                     *expected = see(&bed, &layout, false, false);
        assert_true(gpu_view_equal(output, expected));
        frame_unref(output);
        frame_unref(expected);
        bed_finish(&bed);
    }
}

TEST(test_a_launch_that_fails_leaves_no_picture_and_no_leak)
{
    static const char *const formats[] = {"RG10", "NV12"};

    for (size_t i = 0; i < ARRAY_LENGTH(formats); i++) {
        struct error error = {0};
        struct frame_layout layout;
        struct maker maker;
        struct bed bed;
        int r = 0;

        bed_init(&bed, "board=orin-nano,fail=cuLaunchKernel:4:999");
        frame_layout_init(&layout, pixel_format_by_name(formats[i]), 16, 16, 16);
        const struct frame_allocator *allocator = gpu_memory_allocator(bed.memory);
        struct frame *input = take_frame(&layout, allocator), *output = NULL;
        maker_init(&maker, &layout, allocator, bed.gpu);
        for (unsigned turn = 0; turn < 5 && r == 0; turn++) {
            r = maker_run(&maker, input, &error, &output);
            if (r == 0) {
                assert_int_equal(frame_to_cpu(output, NULL), 0);
                frame_unref(output);
            }
        }
        assert_int_equal(r, -EIO);
        assert_int_equal(frame_to_cpu(input, NULL), 0);
        maker_finish(&maker);
        frame_unref(input);
        bed_finish(&bed);
    }
}

RUN_TESTS(NULL, fake_gpu_end)
