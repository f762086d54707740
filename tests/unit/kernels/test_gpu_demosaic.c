// Demosaics by demosaic.cu, beside the CPU's: every format, output and kind of memory at sizes that
// hurt.
#include "tests/unit/kernels/gpu_view_bed.h"

#include "kernels/demosaic/demosaic.h"

#include <errno.h>

static const char *const formats[] = {
    "RGGB", "GRBG", "GBRG", "BA81", "RG10", "BA10", "GB10", "BG10", "pRAA", "pgAA", "pGAA", "pBAA",
    "RG12", "BA12", "GB12", "BG12", "pRCC", "pgCC", "pGCC", "pBCC", "RG16", "GR16", "GB16", "BYR2"};

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

// One picture of the layout by `gpu`, or by the CPU.
static struct frame *make_by(const struct frame_layout *layout, bool colour,
                             const struct frame_allocator *allocator, struct gpu *gpu)
{
    struct frame *input = take_frame(layout, allocator), *output = NULL;
    const struct demosaic_setup setup = {
        .input = layout, .colour = colour, .frames = 1, .allocator = allocator, .gpu = gpu};
    struct demosaic *demosaic = NULL;
    struct error error = {0};

    if (demosaic_new(&setup, &error, &demosaic) < 0 ||
        demosaic_run(demosaic, input, &error, &output) < 0 || frame_to_cpu(output, &error) < 0 ||
        frame_to_cpu(input, &error) < 0) {
        fail_msg("%s", error.text);
    }
    demosaic_free(demosaic);
    frame_unref(input);
    return output;
}

static void compare(struct demosaic_bed *bed, const char *format, bool colour, uint32_t width,
                    uint32_t height, size_t stride_align)
{
    struct frame_layout layout;
    struct frame *output, *expected;

    frame_layout_init(&layout, pixel_format_by_name(format), width, height, stride_align);
    if (width % 3 == 0) {
        layout.development = (struct frame_development){9, 1.75, 1.25, 3.5};
    }
    output = make_by(&layout, colour, gpu_memory_allocator(bed->memory), bed->gpu);
    expected = make_by(&layout, colour, frame_allocator_host(), NULL);
    assert_true(frame_layout_equal(&output->layout, &expected->layout));
    if (!gpu_view_equal(output, expected)) {
        fail_msg("%s %ux%u to %s", format, width, height, colour ? "RGB3" : "GREY");
    }
    frame_unref(output);
    frame_unref(expected);
}

TEST(test_demosaics_by_the_gpu_equal_those_by_the_cpu)
{
    static const uint32_t sizes[][3] = {// width, height, alignment of the stride
                                        {1, 1, 1},   {2, 7, 16},   {7, 2, 16},   {3, 3, 1},
                                        {4, 3, 16},  {15, 4, 16},  {16, 5, 16},  {16, 4, 1},
                                        {17, 9, 16}, {18, 6, 16},  {32, 8, 16},  {33, 17, 16},
                                        {67, 41, 1}, {96, 24, 16}, {641, 7, 16}, {300, 70, 16}};
    struct demosaic_bed bed;

    demosaic_bed_init(&bed, "board=orin-nano", CONFIG_MEMORY_REGISTERED);
    for (size_t f = 0; f < ARRAY_LENGTH(formats); f++) {
        for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
            compare(&bed, formats[f], i % 2 == 0, sizes[i][0], sizes[i][1], sizes[i][2]);
            compare(&bed, formats[f], i % 2 == 1, sizes[i][0], sizes[i][1], sizes[i][2]);
        }
    }
    demosaic_bed_finish(&bed);
}

TEST(test_both_frames_are_handed_over_in_managed_memory)
{
    struct demosaic_bed bed;

    demosaic_bed_init(&bed, "board=orin-nano", CONFIG_MEMORY_MANAGED);
    compare(&bed, "pRAA", true, 64, 34, 16);
    compare(&bed, "BA81", false, 66, 34, 16);
    demosaic_bed_finish(&bed);
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
