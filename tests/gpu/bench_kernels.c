// Time of the kernels on the GPU's own memory beside device-to-device copies of the same bytes in
// the same run. Microseconds, medians over frames that rotate through more memory than the L2
// holds. `one`: a frame with an event before and after it. `queued`: frames back to back, the time
// of many divided by their number.
#include "tests/gpu/bench.h"

#include <stdio.h>
#include <string.h>

#define RUNS 48 // whole bursts
#define BURST 8
#define QUEUES 11
#define QUEUE 64
#define ALIGN 512

// One thing to time, on frame `index` of the rotation.
struct job {
    char name[48];
    struct gpu_pipeline *pipeline; // NULL: NPP or a copy
    bool npp;
    struct frame_layout input, output;
    size_t bytes; // read and written
};

struct times {
    double one_us, queued_us;
};

static int copy(struct bench *bench, size_t bytes, unsigned index)
{
    size_t at = index % (BENCH_ROOM / bytes);

    return cuda_driver_check(bench->driver,
                             bench->driver->copy_async(bench->output + at * bytes,
                                                       bench->input + at * bytes, bytes,
                                                       gpu_stream(bench->gpu)),
                             "copying", NULL);
}

static int run_kernel(struct bench *bench, const struct job *job, unsigned index)
{
    size_t input = (job->input.size + ALIGN - 1) / ALIGN * ALIGN;
    size_t output = (job->output.size + ALIGN - 1) / ALIGN * ALIGN;
    size_t at = index % (BENCH_ROOM / (input > output ? input : output));
    uint64_t from = bench->input + at * input, to = bench->output + at * output;

    if (job->npp) {
        return npp_magnitude(bench->npp, from, bench->between, to, job->input.width,
                             job->input.height);
    }
    const struct gpu_picture pictures[] = {gpu_picture_at(&job->input, from),
                                           gpu_picture_at(&job->output, to)};

    return gpu_pipeline_launch(job->pipeline, &pictures[0], &pictures[1], NULL);
}

static int run_job(struct bench *bench, const struct job *job, unsigned index)
{
    return job->npp || job->pipeline ? run_kernel(bench, job, index)
                                     : copy(bench, job->bytes / 2, index);
}

static int time_runs(struct bench *bench, const struct job *job, unsigned first, unsigned count,
                     double *ret_us)
{
    float ms = 0;
    int r = 0;

    bench->driver->event_record(bench->start, gpu_stream(bench->gpu));
    for (unsigned i = 0; i < count && r == 0; i++) {
        r = run_job(bench, job, first + i);
    }
    bench->driver->event_record(bench->end, gpu_stream(bench->gpu));
    r = r < 0 ? r : gpu_wait(bench->gpu, clock_now_ns() + 5 * NS_PER_S, NULL);
    bench->driver->event_elapsed(&ms, bench->start, bench->end);
    *ret_us = 1e3 * ms / count;
    return r;
}

// A job and a copy in turns of BURST runs: each finds the L2 as runs of its own leave it.
static int measure(struct bench *bench, const struct job *job, struct times *ret_job,
                   struct times *ret_copy)
{
    const struct job copying = {.bytes = job->bytes};
    double one[2][RUNS], queued[2][QUEUES];
    int r = 0;

    for (unsigned i = 0; i < 2 * RUNS && r == 0; i++) {
        unsigned which = i / BURST % 2, run = i / (2 * BURST) * BURST + i % BURST;

        r = time_runs(bench, which ? &copying : job, 7 * run, 1, &one[which][run]);
    }
    for (unsigned i = 0; i < 2 * QUEUES && r == 0; i++) {
        r = time_runs(bench, i % 2 ? &copying : job, 0, QUEUE, &queued[i % 2][i / 2]);
    }
    if (r == 0) {
        *ret_job = (struct times){bench_median(one[0], RUNS), bench_median(queued[0], QUEUES)};
        *ret_copy = (struct times){bench_median(one[1], RUNS), bench_median(queued[1], QUEUES)};
    }
    return r;
}

static int run_and_print(struct bench *bench, const struct job *job)
{
    struct times times, copying;
    int r = measure(bench, job, &times, &copying);

    if (r < 0) {
        return r;
    }
    bench_next(bench);
    if (bench->json) {
        printf("{\"name\": \"%s\", \"width\": %u, \"height\": %u, \"bytes\": %zu, "
               "\"one_us\": %.2f, \"queued_us\": %.2f, \"copy_one_us\": %.2f, "
               "\"copy_queued_us\": %.2f}",
               job->name, job->input.width, job->input.height, job->bytes, times.one_us,
               times.queued_us, copying.one_us, copying.queued_us);
    } else {
        printf("%-32s %4ux%-4u %9.2f %9.2f %7.2f %9.2f %9.2f %7.2f\n", job->name, job->input.width,
               job->input.height, times.one_us, copying.one_us, times.one_us / copying.one_us,
               times.queued_us, copying.queued_us, times.queued_us / copying.queued_us);
    }
    fflush(stdout);
    return 0;
}

// What a view reads and writes of two pictures.
static size_t bytes_moved(const struct job *job, bool every_plane)
{
    size_t bytes = 0;

    for (unsigned i = 0; i < job->input.format->plane_count && (i == 0 || every_plane); i++) {
        bytes += (size_t)job->input.planes[i].width_bytes * job->input.planes[i].rows;
    }
    for (unsigned i = 0; i < job->output.format->plane_count && (i == 0 || every_plane); i++) {
        bytes += (size_t)job->output.planes[i].width_bytes * job->output.planes[i].rows;
    }
    return bytes;
}

static int measure_view(struct bench *bench, enum config_view_kind kind, const char *from,
                        const char *to, uint32_t width, uint32_t height, struct config_block block)
{
    static const char *const names[] = {
        [CONFIG_VIEW_CAMERA] = "", [CONFIG_VIEW_GRAY] = " gray", [CONFIG_VIEW_EDGES] = " edges"};
    struct config_view settings = {.view = kind, .norm = CONFIG_NORM_L2, .gain = 1};
    struct config_block blocks[CONFIG_KERNEL_COUNT];
    const struct plan plan =
        plan_make(&settings, pixel_format_by_name(from),
                  strcmp(to, "NV12") == 0 ? VIEW_OUTPUT_STREAM : VIEW_OUTPUT_EXACT);
    struct gpu_pipeline pipeline;
    struct job job = {.pipeline = &pipeline};
    int r;

    for (size_t i = 0; i < CONFIG_KERNEL_COUNT; i++) {
        blocks[i] = block;
    }
    frame_layout_init(&job.input, pixel_format_by_name(from), width, height, 1);
    frame_layout_init(&job.output, pixel_format_by_name(plan.format), width, height, 1);
    job.bytes = bytes_moved(&job, kind == CONFIG_VIEW_CAMERA);
    r = gpu_pipeline_init(&pipeline, bench->gpu, &plan, &job.input, false, NULL);
    r = r < 0 ? r : gpu_pipeline_set_blocks(&pipeline, blocks, NULL);
    if (r == 0) {
        block = pipeline.stages[0].kernels[0].block;
        snprintf(job.name, sizeof job.name, "%s to %s%s [%d, %d]", from, to, names[kind], block.x,
                 block.y);
        r = run_and_print(bench, &job);
    }
    gpu_pipeline_finish(&pipeline);
    return r;
}

// Two frames' gray is read and written beside the pictures. `threshold` 255: nothing moves; 1: all
// of the noise does.
static int measure_motion(struct bench *bench, const char *from, int threshold, uint32_t width,
                          uint32_t height)
{
    const struct config_view settings = {
        .view = CONFIG_VIEW_MOTION, .threshold = threshold, .erode = 1};
    const struct plan plan = plan_make(&settings, pixel_format_by_name(from), VIEW_OUTPUT_STREAM);
    struct gpu_pipeline pipeline;
    struct job job = {.pipeline = &pipeline};
    int r;

    frame_layout_init(&job.input, pixel_format_by_name(from), width, height, 1);
    frame_layout_init(&job.output, pixel_format_by_name(plan.format), width, height, 1);
    job.bytes = bytes_moved(&job, true) + 2 * (size_t)width * height;
    snprintf(job.name, sizeof job.name, "%s motion, %s moves", from,
             threshold == 255 ? "nothing" : "all");
    r = gpu_pipeline_init(&pipeline, bench->gpu, &plan, &job.input, false, NULL);
    r = r < 0 ? r : run_and_print(bench, &job);
    gpu_pipeline_finish(&pipeline);
    return r;
}

static int measure_motions(struct bench *bench, uint32_t width, uint32_t height)
{
    int r = measure_motion(bench, "NV12", 255, width, height);

    r = r < 0 ? r : measure_motion(bench, "NV12", 1, width, height);
    r = r < 0 ? r : measure_motion(bench, "YUYV", 255, width, height);
    return r < 0 ? r : measure_motion(bench, "RGB3", 255, width, height);
}

static int measure_npp(struct bench *bench, uint32_t width, uint32_t height)
{
    struct job job = {.name = "NPP gradient l2 + convert", .npp = true};

    frame_layout_init(&job.input, pixel_format_by_name("GREY"), width, height, 1);
    job.output = job.input;
    job.bytes = 2 * job.input.size;
    return bench->npp ? run_and_print(bench, &job) : 0;
}

static int measure_views(struct bench *bench, uint32_t width, uint32_t height)
{
    static const struct {
        enum config_view_kind kind;
        const char *from, *to;
    } views[] = {
        {CONFIG_VIEW_EDGES, "GREY", "GREY"},  {CONFIG_VIEW_EDGES, "YUYV", "NV12"},
        {CONFIG_VIEW_EDGES, "NV12", "NV12"},  {CONFIG_VIEW_EDGES, "RGB3", "NV12"},
        {CONFIG_VIEW_EDGES, "XR24", "NV12"},  {CONFIG_VIEW_GRAY, "YUYV", "NV12"},
        {CONFIG_VIEW_GRAY, "NV12", "NV12"},   {CONFIG_VIEW_GRAY, "RGB3", "NV12"},
        {CONFIG_VIEW_GRAY, "XR24", "NV12"},   {CONFIG_VIEW_CAMERA, "YUYV", "NV12"},
        {CONFIG_VIEW_CAMERA, "YU12", "NV12"}, {CONFIG_VIEW_CAMERA, "422P", "NV12"},
        {CONFIG_VIEW_CAMERA, "RGB3", "NV12"}, {CONFIG_VIEW_CAMERA, "XR24", "NV12"},
        {CONFIG_VIEW_CAMERA, "BGR3", "RGB3"},
    };
    int r = 0;

    for (size_t i = 0; i < ARRAY_LENGTH(views) && r == 0; i++) {
        r = measure_view(bench, views[i].kind, views[i].from, views[i].to, width, height,
                         (struct config_block){0, 0, 0});
        if (i == 0 && r == 0) {
            r = measure_npp(bench, width, height);
        }
    }
    return r < 0 ? r : measure_motions(bench, width, height);
}

static int measure_blocks(struct bench *bench, uint32_t width, uint32_t height)
{
    static const struct config_block blocks[] = {{128, 1, 0}, {32, 8, 0}, {32, 4, 0},  {64, 4, 0},
                                                 {256, 1, 0}, {64, 1, 0}, {16, 16, 0}, {32, 16, 0},
                                                 {64, 8, 0},  {32, 2, 0}, {64, 2, 0},  {128, 2, 0}};
    int r = 0;

    for (size_t i = 0; i < ARRAY_LENGTH(blocks) && r == 0; i++) {
        r = measure_view(bench, CONFIG_VIEW_EDGES, "GREY", "GREY", width, height, blocks[i]);
        r = r < 0
                ? r
                : measure_view(bench, CONFIG_VIEW_EDGES, "YUYV", "NV12", width, height, blocks[i]);
    }
    return r;
}

int bench_kernels(struct bench *bench, bool blocks)
{
    static const uint32_t sizes[][2] = {{1280, 720}, {1920, 1080}, {3840, 2160}, {7680, 4320}};
    char columns[128];
    int r = 0;

    snprintf(columns, sizeof columns, "%-32s %9s %9s %9s %7s %9s %9s %7s", "", "size", "one us",
             "copy us", "ratio", "queued us", "copy us", "ratio");
    bench_begin(bench, "kernels", "The GPU's own memory, beside copies of as many bytes", columns);
    for (size_t i = 0; i < ARRAY_LENGTH(sizes) && r == 0; i++) {
        r = (blocks ? measure_blocks : measure_views)(bench, sizes[i][0], sizes[i][1]);
    }
    bench_end(bench);
    return r;
}
