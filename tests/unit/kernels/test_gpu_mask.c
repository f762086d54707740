// Views with masks on the GPU, beside the CPU's: all that may have one are the GPU's.
#include "tests/unit/kernels/gpu_view_bed.h"

#include "kernels/graph/graph.h"
#include "kernels/graph/plan.h"
#include "kernels/graph/runner.h"

#define CORNERS 4
#define FRAMES 2

static struct config_point band[CORNERS] = {{0.1, 0}, {0.7, 0}, {0.95, 1}, {0.2, 0.8}};
static struct config_point left[CORNERS] = {{0, 0}, {0.5, 0}, {0.5, 1}, {0, 1}};

#define MASKED .polygon = band, .polygon_count = CORNERS
static const struct config_view masked_edges = {.view = CONFIG_VIEW_EDGES, .gain = 1.0, MASKED};
static const struct config_view views[] = {
    {.view = CONFIG_VIEW_GRAY, MASKED},
    {.view = CONFIG_VIEW_EDGES, .gain = 1.0, MASKED},
    {.view = CONFIG_VIEW_EDGES, .gain = 0.3, .op = CONFIG_OPERATOR_SCHARR, MASKED},
    {.view = CONFIG_VIEW_BINARY, .gain = 1.0, .threshold = 80, MASKED},
    {.view = CONFIG_VIEW_BINARY,
     .gain = 1.0,
     .threshold = CONFIG_THRESHOLD_OTSU,
     .morphology = CONFIG_MORPHOLOGY_CLOSE,
     .times = 2,
     MASKED},
    {.view = CONFIG_VIEW_CANNY, .low = 50, .high = 150, MASKED},
    {.view = CONFIG_VIEW_MOTION, .threshold = 25, .erode = 1, MASKED},
    {.view = CONFIG_VIEW_MOTION,
     .threshold = CONFIG_THRESHOLD_OTSU,
     .mark = CONFIG_MARK_RED,
     MASKED},
    {.view = CONFIG_VIEW_OVERLAY,
     .gain = 1.0,
     .threshold = 60,
     .colour = (char *)"#ff8010",
     MASKED},
    {.view = CONFIG_VIEW_CUSTOM,
     .gain = 1.0,
     .threshold = 60,
     .stages = {{CONFIG_STAGE_BLUR5, CONFIG_STAGE_SCHARR, CONFIG_STAGE_MASK,
                 CONFIG_STAGE_THRESHOLD},
                4},
     MASKED},
    {.view = CONFIG_VIEW_CUSTOM,
     .low = 50,
     .high = 150,
     .stages = {{CONFIG_STAGE_MASK, CONFIG_STAGE_CANNY, CONFIG_STAGE_MASK, CONFIG_STAGE_MARK}, 4},
     MASKED},
    {.view = CONFIG_VIEW_SPLIT,
     .left = (char *)"camera",
     .right = (char *)"mine",
     .right_view = &masked_edges},
};

static void bed_init(struct gpu_view_bed *bed, const struct frame_layout *layout,
                     enum config_memory memory)
{
    *bed = (struct gpu_view_bed){0};
    fake_gpu_play("board=orin-nano");
    assert_int_equal(gpu_new(NULL, &bed->gpu), 0);
    assert_int_equal(gpu_memory_new(bed->gpu, memory, NULL, &bed->memory), 0);
    assert_int_equal(frame_pool_new(layout, 1, gpu_memory_allocator(bed->memory), &bed->pool), 0);
}

static struct view *new_view(const struct gpu_view_bed *bed, const struct config_view *settings,
                             const struct frame_layout *layout, bool on_gpu, struct graph *graph)
{
    const struct view_setup setup = {.settings = settings,
                                     .input = layout,
                                     .allocator = on_gpu ? gpu_memory_allocator(bed->memory)
                                                         : frame_allocator_host(),
                                     .gpu = on_gpu ? bed->gpu : NULL,
                                     .graph = graph};
    struct view *view = NULL;

    assert_int_equal(view_new(&setup, NULL, &view), 0);
    assert_string_equal(view_backend(view), on_gpu ? "CUDA sm_87" : "CPU");
    return view;
}

static void compare(struct view *view, struct view *reference, struct frame *input)
{
    struct frame *output = NULL, *expected = NULL;

    assert_int_equal(view_run(view, input, NULL, &output), 0);
    assert_int_equal(view_run(reference, input, NULL, &expected), 0);
    assert_true(gpu_view_equal(output, expected));
    frame_unref(expected);
    frame_unref(output);
}

static void check_view(const struct config_view *settings, const char *format, uint32_t width,
                       uint32_t height, size_t align, enum config_memory memory)
{
    struct frame_layout layout;
    struct gpu_view_bed bed;

    frame_layout_init(&layout, pixel_format_by_name(format), width, height, align);
    bed_init(&bed, &layout, memory);
    bed.view = new_view(&bed, settings, &layout, true, NULL);
    bed.reference = new_view(&bed, settings, &layout, false, NULL);
    for (uint32_t i = 0; i < FRAMES; i++) {
        struct frame *input = frame_pool_take(bed.pool);

        gpu_view_draw(input, i + width);
        compare(bed.view, bed.reference, input);
        frame_unref(input);
    }
    gpu_view_bed_finish(&bed);
    assert_int_equal(fake_gpu_leaks(), 0);
}

TEST(test_every_view_with_a_mask_is_the_cpus)
{
    static const char *const formats[] = {"GREY", "NV12", "YUYV", "BGR3"};
    static const uint32_t sizes[][2] = {{1, 1}, {3, 5}, {64, 8}, {131, 47}};
    static const enum config_memory memories[] = {CONFIG_MEMORY_REGISTERED, CONFIG_MEMORY_MANAGED};

    for (size_t f = 0; f < ARRAY_LENGTH(formats); f++) {
        for (size_t s = 0; s < ARRAY_LENGTH(sizes); s++) {
            for (size_t i = 0; i < ARRAY_LENGTH(views); i++) {
                check_view(&views[i], formats[f], sizes[s][0], sizes[s][1], 1 + (f + s) % 2 * 15,
                           memories[(f + i) % 2]);
            }
        }
    }
}

// The mask is no reason to make anything before it in another way.
TEST(test_only_the_mask_comes_in_between)
{
    static const struct {
        size_t view;
        const char *format, *stages;
    } cases[] = {
        {0, "NV12", "mask"},
        {0, "YUYV", "gray mask"},
        {1, "YUYV", "gradient mask"},
        {3, "YUYV", "gradient mask"},
        {5, "YUYV", "canny mask"},
        {6, "NV12", "difference morphology mask mark"},
        {8, "NV12", "gradient mask overlay"},
        {9, "GREY", "blur gradient mask threshold"},
    };
    struct frame_layout layout;
    struct gpu_view_bed bed;

    frame_layout_init(&layout, pixel_format_by_name("GREY"), 64, 48, 1);
    bed_init(&bed, &layout, CONFIG_MEMORY_REGISTERED);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct view_setup setup = {.settings = &views[cases[i].view], .input = &layout};
        struct mask_plane *mask = NULL;
        struct runner runner;
        char names[128] = "";
        struct plan plan;

        frame_layout_init(&layout, pixel_format_by_name(cases[i].format), 64, 48, 1);
        plan = plan_make(setup.settings, layout.format, VIEW_OUTPUT_STREAM);
        assert_int_equal(plan_load_mask(&plan, &setup, NULL, &mask), 0);
        assert_int_equal(runner_init_plan(&runner, bed.gpu, &plan, &layout, false, NULL), 0);
        for (unsigned k = 0; k < runner.count; k++) {
            size_t length = strlen(names);

            snprintf(names + length, sizeof names - length, "%s%s", k > 0 ? " " : "",
                     runner.gpu_stages[k].ops->name);
        }
        assert_string_equal(names, cases[i].stages);
        runner_finish(&runner);
        mask_plane_unref(mask);
    }
    gpu_view_bed_finish(&bed);
    assert_int_equal(fake_gpu_leaks(), 0);
}

TEST(test_views_with_other_masks_share_what_comes_before)
{
    const struct config_view edges = {.view = CONFIG_VIEW_EDGES, .gain = 1.0, .blur = 5};
    struct config_view settings[3] = {edges, edges, edges};
    struct view *on_gpu[3], *references[3];
    struct frame_layout layout;
    struct gpu_view_bed bed;
    struct graph *graph;
    struct frame *input;

    frame_layout_init(&layout, pixel_format_by_name("YUYV"), 131, 47, 16);
    bed_init(&bed, &layout, CONFIG_MEMORY_REGISTERED);
    assert_int_equal(graph_new(&graph), 0);
    for (size_t i = 0; i < 3; i++) {
        settings[i].polygon = i < 2 ? band : left;
        settings[i].polygon_count = CORNERS;
        on_gpu[i] = new_view(&bed, &settings[i], &layout, true, graph);
        references[i] = new_view(&bed, &settings[i], &layout, false, NULL);
        view_set_active(on_gpu[i], true);
    }
    input = frame_pool_take(bed.pool);
    for (uint32_t frame = 0; frame < FRAMES; frame++) {
        gpu_view_draw(input, frame);
        graph_begin(graph);
        for (size_t i = 0; i < 3; i++) {
            compare(on_gpu[i], references[i], input);
        }
    }
    assert_int_equal(graph_count(graph, STAGE_GRADIENT).runs, FRAMES);
    assert_int_equal(graph_count(graph, STAGE_GRADIENT).shared, 2 * FRAMES);
    // In the same launch as limited range, which is each view's own.
    assert_int_equal(graph_count(graph, STAGE_MASK).runs, 3 * FRAMES);
    frame_unref(input);
    for (size_t i = 0; i < 3; i++) {
        view_free(on_gpu[i]);
        view_free(references[i]);
    }
    graph_free(graph);
    gpu_view_bed_finish(&bed);
    assert_int_equal(fake_gpu_leaks(), 0);
}

RUN_TESTS(NULL, fake_gpu_end)
