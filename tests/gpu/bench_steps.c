// Time of views of several kernels and of single steps, on the GPU's own memory.
#include "tests/gpu/bench.h"

#include "kernels/graph/stages.h"

#include <stdio.h>

// Two frames' gray is read and written beside the pictures. `threshold` 255: nothing moves; 1: all
// of the noise does.
static int measure_motion(struct bench *bench, const char *from, int threshold,
                          const struct bench_size *size)
{
    const struct config_view settings = {
        .view = CONFIG_VIEW_MOTION, .threshold = threshold, .erode = 1};
    const struct plan plan = plan_make(&settings, pixel_format_by_name(from), VIEW_OUTPUT_STREAM);
    struct runner runner;
    struct bench_job job = {.runner = &runner};
    int r;

    frame_layout_init(&job.input, pixel_format_by_name(from), size->width, size->height, 1);
    frame_layout_init(&job.output, pixel_format_by_name(plan.format), size->width, size->height, 1);
    job.bytes = bench_bytes_moved(&job, true, true) + 2 * (size_t)size->width * size->height;
    snprintf(job.name, sizeof job.name, "%s motion, %s moves", from,
             threshold == 255 ? "nothing" : "all");
    r = runner_init_plan(&runner, bench->gpu, &plan, &job.input, false, NULL);
    r = r < 0 ? r : bench_run_job(bench, &job);
    runner_finish(&runner);
    return r;
}

int bench_motion(struct bench *bench, const struct bench_size *size)
{
    int r = measure_motion(bench, "NV12", 255, size);

    r = r < 0 ? r : measure_motion(bench, "NV12", 1, size);
    r = r < 0 ? r : measure_motion(bench, "YUYV", 255, size);
    return r < 0 ? r : measure_motion(bench, "RGB3", 255, size);
}

// One step of a plan alone, gray plane to gray plane.
static int measure_step(struct bench *bench, enum stage_kind kind,
                        const struct config_view *settings, const char *name,
                        const struct bench_size *size)
{
    struct frame_layout layout;
    struct plan plan = {.steps = {plan_step(kind, settings)}, .count = 1};
    const struct view_setup view = {.settings = settings, .input = &layout};
    struct mask_plane *mask = NULL;
    struct gpu_stage_setup setup = {.gpu = bench->gpu,
                                    .steps = plan.steps,
                                    .count = 1,
                                    .camera = &layout,
                                    .output = pixel_format_by_name("GREY")};
    struct runner runner = {.gpu = bench->gpu, .count = 1};
    struct bench_job job = {.runner = &runner};
    const struct gpu_stage_ops *ops;
    unsigned taken;
    int r;

    // As planes lie between stages.
    frame_layout_init(&layout, setup.output, size->width, size->height, 128);
    job.input = job.output = layout;
    job.bytes = bench_bytes_moved(&job, false, false);
    ops = stages_find_gpu(&setup, &taken);
    r = ops ? plan_load_mask(&plan, &view, NULL, &mask) : -1;
    r = r < 0 ? r : gpu_chain_new(bench->gpu, true, NULL, &runner.chain);
    r = r < 0 ? r : gpu_stage_init(&runner.gpu_stages[0], ops, &setup, NULL);
    mask_plane_unref(mask); // the GPU has it
    if (r == 0) {
        snprintf(job.name, sizeof job.name, "%s", name);
        r = bench_run_job(bench, &job);
    }
    runner_finish(&runner);
    return r;
}

// Every operator, and every step alone.
int bench_steps(struct bench *bench, const struct bench_size *size)
{
    static struct config_point half[] = {{0, 0}, {1, 0}, {0, 1}};
    static const struct {
        const char *name;
        enum stage_kind kind;
        struct config_view settings;
    } steps[] = {
        {"sobel5", STAGE_GRADIENT, {.op = CONFIG_OPERATOR_SOBEL5, .gain = 1}},
        {"sobel5 gain 0.1", STAGE_GRADIENT, {.op = CONFIG_OPERATOR_SOBEL5, .gain = 0.1}},
        {"scharr", STAGE_GRADIENT, {.op = CONFIG_OPERATOR_SCHARR, .gain = 1}},
        {"scharr gain 0.3", STAGE_GRADIENT, {.op = CONFIG_OPERATOR_SCHARR, .gain = 0.3}},
        {"prewitt", STAGE_GRADIENT, {.op = CONFIG_OPERATOR_PREWITT, .gain = 1}},
        {"blur 3", STAGE_BLUR, {.blur = 3}},
        {"blur 5", STAGE_BLUR, {.blur = 5}},
        {"threshold", STAGE_THRESHOLD, {.threshold = 80}},
        {"threshold otsu", STAGE_THRESHOLD, {.threshold = CONFIG_THRESHOLD_OTSU}},
        {"mask", STAGE_MASK, {.polygon = half, .polygon_count = ARRAY_LENGTH(half)}},
        {"erode 1", STAGE_ERODE, {.times = 1}},
        {"erode 3", STAGE_ERODE, {.times = 3}},
        {"dilate 5", STAGE_DILATE, {.times = 5}},
        {"dilate 8", STAGE_DILATE, {.times = 8}},
    };
    int r = 0;

    for (size_t i = 0; i < ARRAY_LENGTH(steps) && r == 0; i++)
        r = measure_step(bench, steps[i].kind, &steps[i].settings, steps[i].name, size);
    return r;
}

// Whole views of several kernels, beside a copy of what they read and write at their ends.
int bench_chains(struct bench *bench, const struct bench_size *size)
{
    static const struct {
        const char *name;
        struct config_view settings;
    } chains[] = {
        {" binary", {.threshold = 80}},
        {" binary otsu", {.threshold = CONFIG_THRESHOLD_OTSU}},
        {" binary open 1", {.threshold = 80, .morphology = CONFIG_MORPHOLOGY_OPEN, .times = 1}},
        {" blur 5 binary", {.threshold = 80, .blur = 5}},
        {" scharr binary", {.threshold = 80, .op = CONFIG_OPERATOR_SCHARR}},
    };
    int r = 0;

    for (size_t i = 0; i < 2 * ARRAY_LENGTH(chains) && r == 0; i++) {
        struct config_view settings = chains[i / 2].settings;

        settings.view = CONFIG_VIEW_BINARY;
        settings.gain = 1;
        r = bench_run_view(bench, &settings, chains[i / 2].name, i % 2 ? "YUYV" : "NV12", "NV12",
                           size);
    }
    return r;
}
