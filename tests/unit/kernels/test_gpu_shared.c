// Stages that views share on the GPU, beside those of the CPU.
#include "tests/unit/kernels/gpu_view_bed.h"

#include "kernels/graph/shared.h"
#include "kernels/graph/view_gpu.h"

#define VIEWS 3

static const struct config_view settings[VIEWS] = {
    {.view = CONFIG_VIEW_EDGES, .gain = 1.0},
    {.view = CONFIG_VIEW_EDGES, .norm = CONFIG_NORM_L1, .gain = 1.0},
    {.view = CONFIG_VIEW_MOTION, .threshold = 25, .erode = 1},
};
static const struct config_view blurred[VIEWS] = {
    {.view = CONFIG_VIEW_EDGES, .gain = 1.0, .blur = 5},
    {.view = CONFIG_VIEW_BINARY, .gain = 1.0, .blur = 5, .threshold = CONFIG_THRESHOLD_OTSU},
    {.view = CONFIG_VIEW_CANNY, .low = 50, .high = 150, .blur = 5},
};

static void bed_init_in(struct gpu_view_bed *bed, enum config_memory memory,
                        const struct frame_layout *layout)
{
    *bed = (struct gpu_view_bed){0};
    fake_gpu_play("board=orin-nano");
    assert_int_equal(gpu_new(NULL, &bed->gpu), 0);
    assert_int_equal(gpu_memory_new(bed->gpu, memory, NULL, &bed->memory), 0);
    assert_int_equal(frame_pool_new(layout, 1, gpu_memory_allocator(bed->memory), &bed->pool), 0);
}

static void bed_init(struct gpu_view_bed *bed, const struct frame_layout *layout)
{
    bed_init_in(bed, CONFIG_MEMORY_AUTO, layout);
}

struct group {
    struct shared *shared;
    struct view *views[VIEWS], *references[VIEWS];
};

static struct group make_group(const struct gpu_view_bed *bed, const struct config_view *views,
                               const struct frame_layout *layout)
{
    struct group group;

    assert_int_equal(shared_new(&group.shared), 0);
    for (size_t i = 0; i < VIEWS; i++) {
        struct view_setup setup = {
            .settings = &views[i], .input = layout, .allocator = frame_allocator_host()};

        assert_int_equal(view_new(&setup, NULL, &group.references[i]), 0);
        setup.allocator = gpu_memory_allocator(bed->memory);
        setup.gpu = bed->gpu;
        setup.shared = group.shared;
        assert_int_equal(view_new(&setup, NULL, &group.views[i]), 0);
        assert_string_equal(view_backend(group.views[i]), "CUDA sm_87");
    }
    return group;
}

// As the daemon does: all that are active are queued, then each is waited for.
static void run_group(const struct gpu_view_bed *bed, const struct group *group, uint32_t seed,
                      unsigned active)
{
    struct frame *input = frame_pool_take(bed->pool), *output, *expected[VIEWS] = {NULL};

    gpu_view_draw(input, seed);
    for (size_t i = 0; i < VIEWS; i++) {
        view_set_active(group->views[i], active >> i & 1);
        view_set_active(group->references[i], active >> i & 1);
    }
    shared_begin(group->shared);
    for (size_t i = 0; i < VIEWS; i++) {
        if (active >> i & 1) {
            assert_int_equal(view_run(group->references[i], input, NULL, &expected[i]), 0);
        }
    }
    for (size_t i = 0; i < VIEWS; i++) {
        if (active >> i & 1) {
            assert_int_equal(view_begin(group->views[i], input, NULL), 0);
        }
    }
    for (size_t i = 0; i < VIEWS; i++) {
        if (active >> i & 1) {
            assert_int_equal(view_end(group->views[i], NULL, &output), 0);
            assert_true(gpu_view_equal(output, expected[i]));
            frame_unref(expected[i]);
            frame_unref(output);
        }
    }
    assert_int_equal(frame_to_cpu(input, NULL), 0);
    frame_unref(input);
}

static void finish_group(struct gpu_view_bed *bed, struct group *group)
{
    for (size_t i = 0; i < VIEWS; i++) {
        view_free(group->views[i]);
        view_free(group->references[i]);
    }
    shared_free(group->shared);
    gpu_view_bed_finish(bed);
    assert_int_equal(fake_gpu_leaks(), 0);
}

TEST(test_gray_alone_is_not_worth_a_plane_on_the_gpu)
{
    struct frame_layout layout;
    struct gpu_view_bed bed;
    struct group group;

    frame_layout_init(&layout, pixel_format_by_name("YUYV"), 131, 47, 16);
    bed_init(&bed, &layout);
    group = make_group(&bed, settings, &layout);
    run_group(&bed, &group, 1, 7);
    assert_int_equal(shared_count(group.shared, STAGE_GRAY).runs, VIEWS);
    assert_int_equal(shared_count(group.shared, STAGE_GRAY).shared, 0);
    finish_group(&bed, &group);
}

TEST(test_passes_that_views_have_in_common_are_made_once)
{
    static const char *const formats[] = {"NV12", "YUYV", "RGB3"};
    static const uint32_t sizes[][2] = {{1, 1}, {3, 5}, {64, 8}, {131, 47}};

    for (size_t f = 0; f < ARRAY_LENGTH(formats); f++) {
        for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
            struct frame_layout layout;
            struct gpu_view_bed bed;
            struct group group;

            frame_layout_init(&layout, pixel_format_by_name(formats[f]), sizes[i][0], sizes[i][1],
                              16);
            bed_init(&bed, &layout);
            group = make_group(&bed, blurred, &layout);
            for (unsigned frame = 0; frame < 3; frame++) {
                run_group(&bed, &group, frame, 7);
            }
            assert_int_equal(shared_count(group.shared, STAGE_BLUR).runs, 3);
            assert_int_equal(shared_count(group.shared, STAGE_BLUR).shared, 3 * (VIEWS - 1));
            for (unsigned active = 0; active < 8; active++) {
                run_group(&bed, &group, active, active);
            }
            finish_group(&bed, &group);
        }
    }
}

// Of this board the CPU may touch no managed memory that a kernel may be using.
TEST(test_managed_pictures_are_read_while_others_are_made)
{
    struct frame_layout layout;
    struct gpu_view_bed bed;
    struct group group;

    frame_layout_init(&layout, pixel_format_by_name("YUYV"), 131, 47, 16);
    bed_init_in(&bed, CONFIG_MEMORY_MANAGED, &layout);
    group = make_group(&bed, settings, &layout);
    for (unsigned frame = 0; frame < 3; frame++) {
        run_group(&bed, &group, frame, 7);
    }
    finish_group(&bed, &group);
}

TEST(test_other_blocks_hold_for_what_is_shared)
{
    struct config_block blocks[CONFIG_KERNEL_COUNT] = {{0}};
    struct frame_layout layout;
    struct gpu_view_bed bed;
    struct group group;

    frame_layout_init(&layout, pixel_format_by_name("NV12"), 131, 47, 16);
    bed_init(&bed, &layout);
    group = make_group(&bed, blurred, &layout);
    run_group(&bed, &group, 1, 7);
    blocks[CONFIG_KERNEL_BLUR] = (struct config_block){16, 4, 0};
    for (size_t i = 0; i < VIEWS; i++) {
        assert_int_equal(view_set_blocks(group.views[i], blocks, NULL), 0);
    }
    run_group(&bed, &group, 2, 7);
    run_group(&bed, &group, 3, 7);
    assert_int_equal(shared_count(group.shared, STAGE_BLUR).runs, 3);
    finish_group(&bed, &group);
}

// `from`: what makes the first steps; NULL: the view does.
static void run_parts(struct view_gpu *view, struct segment *from, struct frame *input,
                      struct frame *output)
{
    struct gpu_pictures pictures = {.camera.width = 0};
    uint64_t address;

    assert_int_equal(frame_to_gpu(input, NULL, &address), 0);
    pictures.camera = gpu_picture_at(&input->layout, address);
    assert_int_equal(frame_to_gpu(output, NULL, &address), 0);
    pictures.output = gpu_picture_at(&output->layout, address);
    assert_int_equal(view_gpu_launch(view, from, 1, pictures, NULL), 0);
    assert_int_equal(frame_to_cpu(output, NULL), 0);
    assert_int_equal(frame_to_cpu(input, NULL), 0);
}

// Gray as a segment, and edges that go on from its plane.
static void compare_parts(const char *format, uint32_t width, uint32_t height)
{
    const struct view_setup reference = {.settings = &settings[0],
                                         .allocator = frame_allocator_host()};
    const struct plan plan =
        plan_make(&settings[0], pixel_format_by_name(format), VIEW_OUTPUT_STREAM);
    _Atomic uint64_t runs[STAGE_KIND_COUNT] = {0};
    struct view_setup setup = reference;
    struct frame_layout layout;
    struct gpu_view_bed bed;
    struct view_gpu *view;
    struct segment *segment;

    frame_layout_init(&layout, pixel_format_by_name(format), width, height, 16);
    bed_init(&bed, &layout);
    setup.input = &layout;
    assert_int_equal(view_new(&setup, NULL, &bed.reference), 0);
    setup.gpu = bed.gpu;
    setup.allocator = gpu_memory_allocator(bed.memory);
    const struct segment_setup gray = {
        .plan = &plan, .end = 1, .camera = &layout, .gpu = bed.gpu, .mapped = true, .runs = runs};
    assert_int_equal(segment_new(&gray, &segment), 0);
    assert_int_equal(view_gpu_new(&setup, &plan, NULL, &view), 0);
    assert_int_equal(view_gpu_set_start(view, 1), 0);
    struct frame *input = frame_pool_take(bed.pool), *expected, *output;
    struct frame_pool *pool;

    gpu_view_draw(input, width);
    assert_int_equal(view_run(bed.reference, input, NULL, &expected), 0);
    assert_int_equal(frame_pool_new(&expected->layout, 1, setup.allocator, &pool), 0);
    output = frame_pool_take(pool);
    memset(output->data, 128, output->layout.size);
    for (unsigned i = 0; i < 2; i++) {
        run_parts(view, segment, input, output);
        assert_true(gpu_view_equal(output, expected));
        assert_int_equal(runs[STAGE_GRAY], 1); // the second finds the frame's plane made
    }
    assert_int_equal(view_gpu_set_start(view, 0), 0);
    run_parts(view, NULL, input, output);
    assert_true(gpu_view_equal(output, expected));
    frame_unref(output);
    frame_unref(expected);
    frame_unref(input);
    frame_pool_unref(pool);
    view_gpu_free(view);
    segment_free(segment);
    gpu_view_bed_finish(&bed);
    assert_int_equal(fake_gpu_leaks(), 0);
}

TEST(test_a_view_that_goes_on_from_a_plane_makes_the_cpus_picture)
{
    static const char *const formats[] = {"YUYV", "UYVY", "RGB3", "XR24"};
    static const uint32_t sizes[][2] = {{1, 1}, {3, 5}, {64, 8}, {131, 47}};

    for (size_t f = 0; f < ARRAY_LENGTH(formats); f++) {
        for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
            compare_parts(formats[f], sizes[i][0], sizes[i][1]);
        }
    }
}

RUN_TESTS(NULL, fake_gpu_end)
