// Views beside a GPU that does not compute them: they are the CPU's, on the GPU's memory. Plans
// that no kernel begins, goes on with or ends.
#include "kernels/gpu/gpu_memory.h"
#include "kernels/graph/runner.h"
#include "kernels/graph/view.h"

#include "tests/unit/fake_gpu.h"

#include <errno.h>

struct bed {
    struct gpu *gpu;
    struct gpu_memory *memory;
    struct frame *input;
};

// A step of 100 between the columns 2 and 3, in memory of that kind.
static void bed_init(struct bed *bed, const char *options, enum config_memory kind)
{
    static const uint8_t step[6] = {0, 0, 0, 100, 100, 100};
    struct frame_layout layout;
    struct frame_pool *pool;

    bed->gpu = fake_gpu_open(options);
    assert_int_equal(gpu_memory_new(bed->gpu, kind, NULL, &bed->memory), 0);
    assert_int_equal(gpu_memory_kind(bed->memory), kind);
    frame_layout_init(&layout, pixel_format_by_name("GREY"), 6, 1, 1);
    assert_int_equal(frame_pool_new(&layout, 1, gpu_memory_allocator(bed->memory), &pool), 0);
    bed->input = frame_pool_take(pool);
    frame_pool_unref(pool);
    memcpy(bed->input->data, step, sizeof step);
}

static void bed_finish(struct bed *bed)
{
    frame_unref(bed->input);
    gpu_memory_free(bed->memory);
    gpu_free(bed->gpu);
    assert_int_equal(fake_gpu_leaks(), 0);
}

TEST(test_a_view_in_the_gpus_memory_is_the_cpus_where_no_gpu_is_given)
{
    static const enum config_memory kinds[] = {CONFIG_MEMORY_REGISTERED, CONFIG_MEMORY_PINNED,
                                               CONFIG_MEMORY_MANAGED};
    // A median of 50: edges over 33 that hang together with one over 66.
    const struct config_view settings = {.view = CONFIG_VIEW_CANNY,
                                         .thresholds = CONFIG_THRESHOLDS_MEDIAN};

    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        struct frame *output;
        struct view *view;
        struct bed bed;

        bed_init(&bed, "board=agx-orin", kinds[i]);
        const struct view_setup setup = {.settings = &settings,
                                         .input = &bed.input->layout,
                                         .output = VIEW_OUTPUT_EXACT,
                                         .allocator = gpu_memory_allocator(bed.memory)};
        assert_int_equal(view_new(&setup, NULL, &view), 0);
        assert_string_equal(view_backend(view), "CPU");
        assert_int_equal(view_run(view, bed.input, NULL, &output), 0);
        assert_int_equal(output->side, FRAME_SIDE_CPU);
        assert_memory_equal(frame_plane(output, 0), ((uint8_t[]){0, 0, 255, 0, 0, 0}), 6);
        frame_unref(output);
        view_free(view);
        bed_finish(&bed);
    }
}

TEST(test_a_plan_without_a_kernel_is_refused)
{
    // Nothing makes limited range of smoothed gray, shapes of a camera's picture, or range alone.
    static const enum stage_kind kinds[][2] = {
        {STAGE_BLUR, STAGE_COMPOSE}, {STAGE_ERODE, STAGE_GRADIENT}, {STAGE_COMPOSE, STAGE_BLUR}};
    const struct config_view settings = {.view = CONFIG_VIEW_BINARY, .blur = 3, .times = 1};
    struct bed bed;

    bed_init(&bed, "board=agx-orin", CONFIG_MEMORY_REGISTERED);
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        const struct plan plan = {
            .format = "NV12",
            .steps = {plan_step(kinds[i][0], &settings), plan_step(kinds[i][1], &settings)},
            .count = 2};
        struct error error = {0};
        struct runner runner;

        assert_false(runner_supports(&plan, &bed.input->layout));
        assert_int_equal(
            runner_init_plan(&runner, bed.gpu, &plan, &bed.input->layout, true, &error), -ENOTSUP);
        assert_string_equal(error.text, "this view has no CUDA kernel");
        runner_finish(&runner);
    }
    bed_finish(&bed);
}

RUN_TESTS(NULL, NULL)
