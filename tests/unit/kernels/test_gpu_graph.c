// Stages that views share on the GPU, beside those of the CPU.
#include "tests/unit/kernels/gpu_view_bed.h"

#include "kernels/graph/graph.h"

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

static struct config_point band[] = {{0.1, 0}, {0.7, 0}, {0.95, 1}, {0.2, 0.8}};
static struct config_point left[] = {{0, 0}, {0.5, 0}, {0.5, 1}, {0, 1}};
static const struct config_view masked[VIEWS] = {
    {.view = CONFIG_VIEW_EDGES, .gain = 1.0, .blur = 5, .polygon = band, .polygon_count = 4},
    {.view = CONFIG_VIEW_EDGES, .gain = 1.0, .blur = 5, .polygon = band, .polygon_count = 4},
    {.view = CONFIG_VIEW_EDGES, .gain = 1.0, .blur = 5, .polygon = left, .polygon_count = 4},
};

static void bed_init_in(struct gpu_view_bed *bed, enum config_memory memory,
                        const struct frame_layout *layout)
{
    *bed = (struct gpu_view_bed){0};
    bed->gpu = fake_gpu_open("board=orin-nano");
    assert_int_equal(gpu_memory_new(bed->gpu, memory, NULL, &bed->memory), 0);
    assert_int_equal(frame_pool_new(layout, 1, gpu_memory_allocator(bed->memory), &bed->pool), 0);
}

static void bed_init(struct gpu_view_bed *bed, const struct frame_layout *layout)
{
    bed_init_in(bed, CONFIG_MEMORY_AUTO, layout);
}

struct group {
    struct graph *graph;
    struct view *views[VIEWS], *references[VIEWS];
};

static struct group make_group(const struct gpu_view_bed *bed, const struct config_view *views,
                               const struct frame_layout *layout)
{
    struct group group;

    assert_int_equal(graph_new(&group.graph), 0);
    for (size_t i = 0; i < VIEWS; i++) {
        struct view_setup setup = {
            .settings = &views[i], .input = layout, .allocator = frame_allocator_host()};

        assert_int_equal(view_new(&setup, NULL, &group.references[i]), 0);
        setup.allocator = gpu_memory_allocator(bed->memory);
        setup.gpu = bed->gpu;
        setup.graph = group.graph;
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
    graph_begin(group->graph);
    for (size_t i = 0; i < VIEWS; i++) {
        if (active >> i & 1)
            assert_int_equal(view_run(group->references[i], input, NULL, &expected[i]), 0);
    }
    for (size_t i = 0; i < VIEWS; i++) {
        if (active >> i & 1)
            assert_int_equal(view_begin(group->views[i], input, NULL), 0);
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
    graph_free(group->graph);
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
    assert_int_equal(graph_count(group.graph, STAGE_GRAY).runs, VIEWS);
    assert_int_equal(graph_count(group.graph, STAGE_GRAY).shared, 0);
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
            for (unsigned frame = 0; frame < 3; frame++)
                run_group(&bed, &group, frame, 7);
            assert_int_equal(graph_count(group.graph, STAGE_BLUR).runs, 3);
            assert_int_equal(graph_count(group.graph, STAGE_BLUR).shared, 3 * (VIEWS - 1));
            for (unsigned active = 0; active < 8; active++)
                run_group(&bed, &group, active, active);
            finish_group(&bed, &group);
        }
    }
}

TEST(test_views_with_other_masks_share_what_comes_before)
{
    struct frame_layout layout;
    struct gpu_view_bed bed;
    struct group group;

    frame_layout_init(&layout, pixel_format_by_name("YUYV"), 131, 47, 16);
    bed_init(&bed, &layout);
    group = make_group(&bed, masked, &layout);
    for (unsigned frame = 0; frame < 2; frame++)
        run_group(&bed, &group, frame, 7);
    assert_int_equal(graph_count(group.graph, STAGE_GRADIENT).runs, 2);
    assert_int_equal(graph_count(group.graph, STAGE_GRADIENT).shared, 2 * (VIEWS - 1));
    // In the same launch as limited range, which is each view's own.
    assert_int_equal(graph_count(group.graph, STAGE_MASK).runs, 2 * VIEWS);
    finish_group(&bed, &group);
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
    for (unsigned frame = 0; frame < 3; frame++)
        run_group(&bed, &group, frame, 7);
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
    gpu_set_blocks(bed.gpu, blocks);
    run_group(&bed, &group, 2, 7);
    run_group(&bed, &group, 3, 7);
    assert_int_equal(graph_count(group.graph, STAGE_BLUR).runs, 3);
    finish_group(&bed, &group);
}

RUN_TESTS(NULL, fake_gpu_end)
