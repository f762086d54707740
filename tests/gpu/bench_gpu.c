// Time of the GPU's kernels beside device-to-device copies of the same bytes in the same run.
//
//   bench_gpu [--json] [--blocks]     --blocks: the kernels in several block shapes
//
// Microseconds, medians over frames that rotate through more memory than the L2 holds. `one`: a
// frame with an event before and after it. `queued`: frames back to back, the time of many divided
// by their number. A ratio is against the copy timed the same way.
#include "kernels/gpu_stage.h"
#include "tests/gpu/npp.h"

#include <stdio.h>
#include <string.h>

#define ROOM ((size_t)400 << 20)
#define RUNS 41
#define QUEUE 64

struct bench {
    struct gpu *gpu;
    const struct cuda_driver *driver;
    uint64_t input, output, between;
    struct CUevent_st *start, *end;
    struct npp *npp;
    bool json, first;
};

// One thing to time, on frame `index` of the rotation.
struct job {
    const char *name;
    struct gpu_stage *stage; // NULL: NPP or a copy
    bool npp;
    uint32_t width, height;
    size_t input_bytes, output_bytes; // a pixel row
    size_t copy_bytes;                // of a copy
};

struct times {
    double one_us, queued_us;
};

static int run_job(struct bench *bench, const struct job *job, unsigned index)
{
    size_t input_size = job->input_bytes * job->height,
           output_size = job->output_bytes * job->height;
    size_t largest = input_size > output_size ? input_size : output_size;
    size_t at = index % (ROOM / (largest > job->copy_bytes ? largest : job->copy_bytes));
    struct gpu_picture input = {
        .planes = {{bench->input + at * input_size, (uint32_t)job->input_bytes}},
        .width = job->width,
        .height = job->height};
    struct gpu_picture output = {
        .planes = {{bench->output + at * output_size, (uint32_t)job->output_bytes}}};

    if (job->stage) {
        return gpu_stage_launch(job->stage, &input, &output, NULL);
    }
    if (job->npp) {
        return npp_magnitude(bench->npp, input.planes[0].address, bench->between,
                             output.planes[0].address, job->width, job->height);
    }
    return cuda_driver_check(bench->driver,
                             bench->driver->copy_async(bench->output + at * job->copy_bytes,
                                                       bench->input + at * job->copy_bytes,
                                                       job->copy_bytes, gpu_stream(bench->gpu)),
                             "copying", NULL);
}

static int time_runs(struct bench *bench, const struct job *job, unsigned first, unsigned count,
                     double *ret_us)
{
    struct error error = {0};
    float ms = 0;
    int r = 0;

    bench->driver->event_record(bench->start, gpu_stream(bench->gpu));
    for (unsigned i = 0; i < count && r == 0; i++) {
        r = run_job(bench, job, first + i);
    }
    bench->driver->event_record(bench->end, gpu_stream(bench->gpu));
    r = r < 0 ? r : gpu_wait(bench->gpu, clock_now_ns() + 5 * NS_PER_S, &error);
    bench->driver->event_elapsed(&ms, bench->start, bench->end);
    *ret_us = 1e3 * ms / count;
    return r;
}

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static int measure(struct bench *bench, const struct job *job, struct times *ret_times)
{
    double one[RUNS], queued[RUNS];
    int r = 0;

    for (unsigned i = 0; i < RUNS && r == 0; i++) {
        r = time_runs(bench, job, 7 * i, 1, &one[i]);
    }
    for (unsigned i = 0; i < RUNS / 4 && r == 0; i++) {
        r = time_runs(bench, job, 0, QUEUE, &queued[i]);
    }
    if (r == 0) {
        qsort(one, RUNS, sizeof one[0], compare_times);
        qsort(queued, RUNS / 4, sizeof queued[0], compare_times);
        *ret_times = (struct times){one[RUNS / 2], queued[RUNS / 8]};
    }
    return r;
}

static void print(struct bench *bench, const struct job *job, const struct times *times,
                  const struct times *copy)
{
    if (bench->json) {
        printf("%s{\"name\": \"%s\", \"width\": %u, \"height\": %u, \"one_us\": %.2f, "
               "\"queued_us\": %.2f, \"copy_one_us\": %.2f, \"copy_queued_us\": %.2f}",
               bench->first ? "[" : ",\n ", job->name, job->width, job->height, times->one_us,
               times->queued_us, copy->one_us, copy->queued_us);
    } else {
        printf("%-30s %4ux%-4u %9.2f %9.2f %7.2f %9.2f %9.2f %7.2f\n", job->name, job->width,
               job->height, times->one_us, copy->one_us, times->one_us / copy->one_us,
               times->queued_us, copy->queued_us, times->queued_us / copy->queued_us);
    }
    bench->first = false;
    fflush(stdout);
}

// `job` beside a copy that moves as many bytes: half of what is read and written.
static int measure_beside_copy(struct bench *bench, const struct job *job)
{
    struct job copy = {.name = "copy",
                       .copy_bytes = (job->input_bytes + job->output_bytes) * job->height / 2};
    struct times times, copy_times;
    int r = measure(bench, &copy, &copy_times);

    r = r < 0 ? r : measure(bench, job, &times);
    if (r == 0) {
        print(bench, job, &times, &copy_times);
    }
    return r;
}

static int measure_format(struct bench *bench, const char *format, uint32_t width, uint32_t height,
                          bool limited, const struct config_block *blocks, size_t block_count)
{
    const struct pixel_format *pixels = pixel_format_by_name(format);
    struct config_view settings = {.view = CONFIG_VIEW_EDGES, .norm = CONFIG_NORM_L2, .gain = 1};
    struct error error = {0};
    const struct frame_layout layout = {.format = pixels};
    const struct stage_setup setup = {&settings, &layout,
                                      pixel_format_by_name(limited ? "NV12" : "GREY")};
    struct gpu_stage stage;
    char name[64];
    struct job job = {.name = name,
                      .stage = &stage,
                      .width = width,
                      .height = height,
                      .input_bytes =
                          (size_t)width * pixels->planes[0].bytes >> pixels->planes[0].shift_x,
                      .output_bytes = width};
    int r = gpu_stage_init(&stage, bench->gpu, &setup, false, &error);

    for (size_t i = 0; i < block_count && r == 0; i++) {
        snprintf(name, sizeof name, "%s to %s [%d, %d]", format, limited ? "NV12 edges" : "l2",
                 blocks[i].x, blocks[i].y);
        r = gpu_kernel_set_block(&stage.kernel, blocks[i], &error);
        r = r < 0 ? r : measure_beside_copy(bench, &job);
    }
    gpu_stage_finish(&stage);
    return r;
}

static int measure_size(struct bench *bench, uint32_t width, uint32_t height,
                        const struct config_block *blocks, size_t block_count)
{
    static const char *const formats[] = {"YUYV", "NV12", "RGB3", "XR24"};
    struct job npp = {.name = "NPP gradient l2 + convert",
                      .npp = true,
                      .width = width,
                      .height = height,
                      .input_bytes = width,
                      .output_bytes = width};
    int r = measure_format(bench, "GREY", width, height, false, blocks, block_count);

    for (size_t i = 0; i < ARRAY_LENGTH(formats) && r == 0; i++) {
        r = measure_format(bench, formats[i], width, height, true, blocks,
                           i == 0 ? block_count : 1);
    }
    return r < 0 || !bench->npp ? r : measure_beside_copy(bench, &npp);
}

static int prepare(struct bench *bench)
{
    const struct cuda_driver *driver = bench->driver;
    size_t chunk = 16 << 20;
    _cleanup_(cleanup_free) uint8_t *noise = malloc(chunk);
    uint32_t state = 1;

    if (!noise || driver->mem_alloc(&bench->input, ROOM) ||
        driver->mem_alloc(&bench->output, ROOM) ||
        driver->mem_alloc(&bench->between, (size_t)2 * 7680 * 4320) ||
        driver->event_create(&bench->start, 0) || driver->event_create(&bench->end, 0)) {
        return -1;
    }
    for (size_t i = 0; i < chunk; i++) {
        state = state * 1664525 + 1013904223;
        noise[i] = (uint8_t)(state >> 24);
    }
    for (size_t at = 0; at < ROOM; at += chunk) {
        if (driver->copy_to_device(bench->input + at, noise, chunk, gpu_stream(bench->gpu)) !=
            CUDA_SUCCESS) {
            return -1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const struct config_block blocks[] = {{128, 1}, {32, 8},  {32, 4}, {64, 4}, {256, 1},
                                                 {16, 16}, {32, 16}, {64, 8}, {32, 2}};
    static const unsigned sizes[][2] = {{1280, 720}, {1920, 1080}, {3840, 2160}, {7680, 4320}};
    struct bench bench = {.first = true};
    struct error error = {0};
    size_t block_count = 1;
    int r = gpu_new(&error, &bench.gpu);

    for (int i = 1; i < argc; i++) {
        bench.json |= strcmp(argv[i], "--json") == 0;
        block_count = strcmp(argv[i], "--blocks") == 0 ? ARRAY_LENGTH(blocks) : block_count;
    }
    if (r < 0) {
        fprintf(stderr, "bench_gpu: %s\n", error.text);
        return 1;
    }
    bench.driver = gpu_driver(bench.gpu);
    bench.npp = npp_open(bench.gpu);
    if (!bench.json) {
        printf("%s, sm_%d%s\n%-30s %9s %9s %9s %7s %9s %9s %7s\n", gpu_info(bench.gpu)->name,
               gpu_info(bench.gpu)->sm, bench.npp ? "" : ", no NPP here", "", "size", "one us",
               "copy us", "ratio", "queued us", "copy us", "ratio");
    }
    r = prepare(&bench);
    for (size_t i = 0; i < ARRAY_LENGTH(sizes) && r == 0; i++) {
        r = measure_size(&bench, sizes[i][0], sizes[i][1], blocks, block_count);
    }
    printf(bench.json ? "]\n" : "");
    npp_close(bench.npp);
    gpu_free(bench.gpu);
    return r < 0 ? 1 : 0;
}
