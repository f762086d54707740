// Two views side by side on the GPU: what they share and wait for.
#include "kernels/graph/graph.h"
#include "tests/unit/kernels/gpu_view_bed.h"

#include <errno.h>

static struct gpu_view_case split_of(const char *format, const char *left, const char *right)
{
    return (struct gpu_view_case){.options = "board=agx-orin",
                                  .memory = CONFIG_MEMORY_REGISTERED,
                                  .format = format,
                                  .kind = CONFIG_VIEW_SPLIT,
                                  .left = left,
                                  .right = right,
                                  .gain = 1,
                                  .threshold = 80,
                                  .times = 1,
                                  .low = 200,
                                  .high = 600,
                                  .width = 33,
                                  .height = 19};
}

TEST(test_both_pictures_are_waited_for_once)
{
    struct gpu_view_case c = split_of("NV12", "camera", "edges");
    struct gpu_view_bed bed;
    struct error error = {0};
    uint64_t calls[2];

    c.output = VIEW_OUTPUT_STREAM;
    for (unsigned i = 0; i < 2; i++) {
        c.right = i == 0 ? "edges" : "camera";
        assert_int_equal(gpu_view_bed_init(&bed, &c, &error), 0);
        assert_int_equal(gpu_view_bed_run(&bed, 0, &error), 0);
        calls[i] = fake_gpu_calls();
        assert_int_equal(gpu_view_bed_run(&bed, 1, &error), 0);
        calls[i] = fake_gpu_calls() - calls[i];
        gpu_view_bed_finish(&bed);
    }
    // Entering, the addresses of two frames, two launches, and for the output and for the input an
    // event with its wait.
    assert_int_equal(calls[0], 9);
    assert_int_equal(calls[1], 9);
}

TEST(test_sides_share_what_they_have_in_common)
{
    struct gpu_view_case c = split_of("YUYV", "edges", "canny");
    struct config_view settings = {.view = CONFIG_VIEW_SPLIT,
                                   .left = (char *)"edges",
                                   .right = (char *)"canny",
                                   .gain = 1,
                                   .blur = 5,
                                   .low = 200,
                                   .high = 600};
    struct frame *input, *output, *expected;
    struct gpu_view_bed bed;
    struct error error = {0};
    struct graph *graph;
    struct view *view;

    c.blur = 5;
    assert_int_equal(gpu_view_bed_init(&bed, &c, &error), 0);
    assert_int_equal(graph_new(&graph), 0);
    input = frame_pool_take(bed.pool);
    const struct view_setup setup = {.settings = &settings,
                                     .input = &input->layout,
                                     .frames = 1,
                                     .allocator = gpu_memory_allocator(bed.memory),
                                     .gpu = bed.gpu,
                                     .graph = graph};
    assert_int_equal(view_new(&setup, &error, &view), 0);
    view_set_active(view, true);
    for (uint32_t seed = 0; seed < 3; seed++) {
        gpu_view_draw(input, seed);
        graph_begin(graph);
        assert_int_equal(view_run(view, input, &error, &output), 0);
        assert_int_equal(view_run(bed.reference, input, &error, &expected), 0);
        assert_true(gpu_view_equal(output, expected));
        frame_unref(expected);
        frame_unref(output);
    }
    // Both need the blur of each of three frames.
    assert_int_equal(graph_count(graph, STAGE_BLUR).runs, 3);
    assert_int_equal(graph_count(graph, STAGE_BLUR).shared, 3);
    view_free(view);
    graph_free(graph);
    frame_unref(input);
    gpu_view_bed_finish(&bed);
    assert_int_equal(fake_gpu_leaks(), 0);
}

TEST(test_a_block_is_that_of_conversions_too)
{
    const struct config_block blocks[CONFIG_KERNEL_COUNT] = {
        [CONFIG_KERNEL_CONVERT] = {1, 2048, 0}};
    struct gpu_view_case c = split_of("NV12", "camera", "edges");
    struct gpu_view_bed bed;
    struct error error = {0};

    assert_int_equal(gpu_view_bed_init(&bed, &c, &error), 0);
    gpu_set_blocks(bed.gpu, blocks);
    assert_true(gpu_take_complaint(bed.gpu, &error));
    assert_non_null(strstr(error.text, "kernels.convert.block"));
    assert_int_equal(gpu_view_bed_run(&bed, 0, &error), 0);
    gpu_view_bed_finish(&bed);
}

RUN_TESTS(NULL, fake_gpu_end)
