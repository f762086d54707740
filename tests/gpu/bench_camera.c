// Four views of one camera in registered memory, YUYV to NV12, as the daemon runs them: all queued
// at once, and, beside that in turns, one after the other. Frames come one upon the other, or 30 a
// second, when clocks and caches have had time to go down. Medians in microseconds: until the first
// view's picture may be encoded, until the last one's; and the CPU time that the thread took.
#include "kernels/gpu/gpu_memory.h"
#include "kernels/graph/graph.h"
#include "kernels/graph/view.h"
#include "tests/gpu/bench.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define VIEWS 4
#define RUNS 48
#define FRAME_NS (NS_PER_S / 30)

struct times {
    double first_us[RUNS], all_us[RUNS], cpu_us[RUNS];
};

struct camera {
    struct bench *bench;
    struct gpu_memory *memory; // owned
    struct frame_layout layout;
    struct frame_pool *frames;
    struct graph *graph;
    struct view *views[VIEWS];
    struct times times[2]; // in turn, together
};

static int camera_init(struct camera *camera, struct bench *bench, const struct bench_size *size,
                       struct error *error)
{
    static const struct config_view settings[VIEWS] = {
        {.view = CONFIG_VIEW_EDGES, .norm = CONFIG_NORM_L2, .gain = 1},
        {.view = CONFIG_VIEW_GRAY},
        {.view = CONFIG_VIEW_CANNY, .low = 50, .high = 150},
        {.view = CONFIG_VIEW_MOTION, .threshold = 25, .erode = 1},
    };
    int r = gpu_memory_new(bench->gpu, CONFIG_MEMORY_REGISTERED, error, &camera->memory);

    camera->bench = bench;
    frame_layout_init(&camera->layout, pixel_format_by_name("YUYV"), size->width, size->height, 64);
    if (r == 0) {
        r = frame_pool_new(&camera->layout, 2, gpu_memory_allocator(camera->memory),
                           &camera->frames);
    }
    r = r < 0 ? r : graph_new(&camera->graph);
    for (size_t i = 0; i < VIEWS && r == 0; i++) {
        const struct view_setup setup = {.settings = &settings[i],
                                         .input = &camera->layout,
                                         .allocator = gpu_memory_allocator(camera->memory),
                                         .gpu = bench->gpu,
                                         .graph = camera->graph};

        r = view_new(&setup, error, &camera->views[i]);
        if (r == 0)
            view_set_active(camera->views[i], true);
    }
    return r;
}

static void camera_finish(struct camera *camera)
{
    for (size_t i = 0; i < VIEWS; i++)
        view_free(camera->views[i]);
    graph_free(camera->graph);
    frame_pool_unref(camera->frames);
    gpu_memory_free(camera->memory);
}

static int run_together(struct camera *camera, struct frame *frame, int64_t *ret_first_ns)
{
    int r = 0;

    for (size_t i = 0; i < VIEWS && r == 0; i++)
        r = view_begin(camera->views[i], frame, NULL);
    for (size_t i = 0; i < VIEWS && r == 0; i++) {
        struct frame *picture = NULL;

        r = view_end(camera->views[i], NULL, &picture);
        frame_unref(picture);
        *ret_first_ns = i == 0 ? clock_now_ns() : *ret_first_ns;
    }
    return r < 0 ? r : frame_to_cpu(frame, NULL);
}

static int run_in_turn(struct camera *camera, struct frame *frame, int64_t *ret_first_ns)
{
    int r = 0;

    for (size_t i = 0; i < VIEWS && r == 0; i++) {
        struct frame *picture = NULL;

        r = view_run(camera->views[i], frame, NULL, &picture);
        frame_unref(picture);
        *ret_first_ns = i == 0 ? clock_now_ns() : *ret_first_ns;
    }
    return r;
}

static int run(void *context, unsigned together, unsigned index)
{
    struct camera *camera = context;
    struct times *times = &camera->times[together];
    _cleanup_(cleanup_frame) struct frame *frame = frame_pool_take(camera->frames);
    int64_t start_ns, start_cpu_ns, first_ns = 0;
    int r;

    memset(frame->data, (int)index * 37, frame->layout.size / 2);
    graph_begin(camera->graph);
    start_ns = clock_now_ns();
    start_cpu_ns = bench_cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    r = together ? run_together(camera, frame, &first_ns) : run_in_turn(camera, frame, &first_ns);
    times->cpu_us[index] = (double)(bench_cpu_ns(CLOCK_THREAD_CPUTIME_ID) - start_cpu_ns) / 1e3;
    times->all_us[index] = (double)(clock_now_ns() - start_ns) / 1e3;
    times->first_us[index] = (double)(first_ns - start_ns) / 1e3;
    return r;
}

static void print(struct camera *camera, bool together, bool paced)
{
    struct times *times = &camera->times[together];
    double first = bench_median(times->first_us, RUNS), all = bench_median(times->all_us, RUNS);
    double cpu = bench_median(times->cpu_us, RUNS);

    bench_next(camera->bench);
    if (camera->bench->json) {
        printf(
            "{\"together\": %s, \"paced\": %s, \"width\": %u, \"height\": %u, \"first_us\": %.1f, "
            "\"all_us\": %.1f, \"cpu_us\": %.1f}",
            together ? "true" : "false", paced ? "true" : "false", camera->layout.width,
            camera->layout.height, first, all, cpu);
    } else {
        printf("%-18s %-13s %4ux%-4u %9.1f %9.1f %9.1f\n", together ? "together" : "in turn",
               paced ? "30 a second" : "at once", camera->layout.width, camera->layout.height,
               first, all, cpu);
    }
}

static int measure(struct camera *camera, bool paced)
{
    int r = bench_alternate(RUNS, paced ? FRAME_NS : 0, run, camera);

    for (unsigned i = 0; i < 2 && r == 0; i++)
        print(camera, i, paced);
    return r;
}

int bench_camera(struct bench *bench)
{
    static const struct bench_size sizes[] = {{1280, 720}, {3840, 2160}, {7680, 4320}};
    struct error error = {0};
    char columns[96];
    int r = 0;

    snprintf(columns, sizeof columns, "%-32s %9s %9s %9s %9s", "", "size", "first us", "all us",
             "CPU us");
    bench_begin(bench, "camera", "Four views of one camera: edges, gray, canny, motion", columns);
    for (size_t i = 0; i < ARRAY_LENGTH(sizes) && r == 0; i++) {
        struct camera camera = {0};

        r = camera_init(&camera, bench, &sizes[i], &error);
        r = r < 0 ? r : measure(&camera, false);
        r = r < 0 ? r : measure(&camera, true);
        camera_finish(&camera);
    }
    bench_end(bench);
    if (r < 0)
        fprintf(stderr, "bench_gpu: %s\n", error.text);
    return r;
}
