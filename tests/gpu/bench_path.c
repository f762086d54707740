// One frame's path: YUYV that the CPU wrote, as a camera would, to edges in NV12 that the CPU may
// read, as an encoder would. Kinds of memory that CPU and GPU share, one of them with flips, and
// explicit copies of input and luma (the chroma is constant), in turns in the same run. Wall time
// in microseconds, medians: `ready` until the CPU may read, `read` until it has read every byte of
// luma.
#include "kernels/flip/flip.h"
#include "kernels/gpu/gpu_memory.h"
#include "tests/gpu/bench.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define RUNS 64 // whole bursts, so that no way pays for what another did to the caches
#define BURST 8
#define FRAMES 4
#define VARIANTS_MAX 16

typedef int copy_to_host(void *to, uint64_t from, size_t bytes, struct CUstream_st *stream);

// One way to go, with the frames it goes with.
struct way {
    char name[48];
    bool copies;               // explicitly, between `frames` and the bench's device memory
    struct gpu_memory *memory; // owned; NULL with pageable memory
    struct flip *flip;         // owned; NULL: none
    struct frame_pool *inputs, *outputs;
    struct runner runner;
    double ready_us[RUNS], read_us[RUNS];
};

struct path {
    struct bench *bench;
    copy_to_host *copy_to_host; // asynchronous; the product has no use for it
    struct frame_layout input, output;
    uint8_t *camera; // what the camera delivers
    struct way ways[VARIANTS_MAX];
    size_t count;
    uint64_t sum; // of all that was read
};

static const struct config_view edges = {
    .view = CONFIG_VIEW_EDGES, .norm = CONFIG_NORM_L2, .gain = 1};

// The runner of what comes out of the flip, where there is one.
static int way_init_runner(struct path *path, struct way *way, enum config_flip flip,
                           const struct frame_allocator *allocator, bool uncached,
                           struct error *error)
{
    const struct flip_setup setup = {
        .flip = flip,
        .input = &path->input,
        .frames = FRAMES,
        .allocator = way->memory ? gpu_memory_device_allocator(way->memory) : allocator,
        .gpu = path->bench->gpu};
    struct frame_layout input = path->input, output = path->output;
    int r = 0;

    if (flip != CONFIG_FLIP_NONE) {
        flip_layout_init(&input, flip, &path->input);
        flip_layout_init(&output, flip, &path->output);
        r = flip_new(&setup, error, &way->flip);
    }
    const struct plan plan = plan_make(&edges, input.format, VIEW_OUTPUT_STREAM);

    r = r < 0 ? r : frame_pool_new(&output, FRAMES, allocator, &way->outputs);
    return r < 0 ? r
                 : runner_init_plan(&way->runner, path->bench->gpu, &plan, &input, uncached, error);
}

static int way_init(struct path *path, struct way *way, enum config_memory kind, bool copies,
                    enum config_flip flip, struct error *error)
{
    const struct frame_allocator *allocator = frame_allocator_host();
    int r = 0;

    *way = (struct way){.copies = copies};
    if (kind != CONFIG_MEMORY_HOST) {
        r = gpu_memory_new(path->bench->gpu, kind, error, &way->memory);
        if (r == 0 && gpu_memory_kind(way->memory) != kind)
            return -ENOTSUP;
        allocator = r == 0 ? gpu_memory_allocator(way->memory) : allocator;
    }
    snprintf(way->name, sizeof way->name, "%s%s%s", copies ? "copies, " : "",
             copies && kind == CONFIG_MEMORY_HOST ? "pageable" : allocator->kind,
             flip == CONFIG_FLIP_NONE         ? ""
             : flip == CONFIG_FLIP_ROTATE_180 ? ", half a turn"
                                              : ", a quarter turn");
    r = r < 0 ? r : frame_pool_new(&path->input, FRAMES, allocator, &way->inputs);
    return r < 0 ? r
                 : way_init_runner(path, way, flip, allocator,
                                   !copies && kind != CONFIG_MEMORY_MANAGED, error);
}

static void way_finish(struct way *way)
{
    runner_finish(&way->runner);
    flip_free(way->flip);
    frame_pool_unref(way->inputs);
    frame_pool_unref(way->outputs);
    gpu_memory_free(way->memory);
}

// As the lane and view.c do it.
static int go_shared(struct way *way, struct frame *input, struct frame *output)
{
    _cleanup_(cleanup_frame) struct frame *flipped = NULL;
    struct frame *seen;
    uint64_t from = 0, to = 0;
    int r = way->flip ? flip_run(way->flip, input, NULL, &flipped) : 0;

    seen = flipped ? flipped : input;
    r = r < 0 ? r : frame_to_gpu(seen, NULL, &from);
    r = r < 0 ? r : frame_to_gpu(output, NULL, &to);
    if (r == 0) {
        const struct gpu_picture pictures[] = {gpu_picture_at(&seen->layout, from),
                                               gpu_picture_at(&output->layout, to)};

        r = runner_launch(&way->runner,
                          (struct gpu_pictures){pictures[0], pictures[0], pictures[1]}, NULL);
    }
    r = r < 0 ? r : frame_queue_to_cpu(output, NULL);
    return r < 0 ? r : frame_to_cpu(input, NULL);
}

static int go_copying(struct path *path, struct way *way, struct frame *input, struct frame *output)
{
    struct bench *bench = path->bench;
    struct CUstream_st *stream = gpu_stream(bench->gpu);
    const struct gpu_picture pictures[] = {gpu_picture_at(&input->layout, bench->input),
                                           gpu_picture_at(&output->layout, bench->output)};
    size_t luma = output->layout.planes[0].stride * output->layout.planes[0].rows;
    int r = 0;

    if (bench->driver->copy_to_device(bench->input, input->data, input->layout.size, stream) !=
        CUDA_SUCCESS) {
        return -EIO;
    }
    r = runner_launch(&way->runner, (struct gpu_pictures){pictures[0], pictures[0], pictures[1]},
                      NULL);
    if (r == 0 && path->copy_to_host(output->data, bench->output, luma, stream) != CUDA_SUCCESS)
        return -EIO;
    return r < 0 ? r : gpu_wait(bench->gpu, clock_now_ns() + NS_PER_S, NULL);
}

static uint64_t read_luma(const struct frame *frame)
{
    const uint64_t *words = (const uint64_t *)frame->data;
    size_t count = frame->layout.planes[0].stride * frame->layout.planes[0].rows / sizeof *words;
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += words[i];
    return sum;
}

static int go(struct path *path, struct way *way, unsigned run)
{
    _cleanup_(cleanup_frame) struct frame *input = frame_pool_take(way->inputs);
    _cleanup_(cleanup_frame) struct frame *output = frame_pool_take(way->outputs);
    int64_t start_ns, ready_ns;
    int r;

    memcpy(input->data, path->camera + run % 16 * 64, input->layout.size);
    start_ns = clock_now_ns();
    r = way->copies ? go_copying(path, way, input, output) : go_shared(way, input, output);
    ready_ns = clock_now_ns();
    path->sum += read_luma(output);
    way->ready_us[run] = (double)(ready_ns - start_ns) / 1e3;
    way->read_us[run] = (double)(clock_now_ns() - start_ns) / 1e3;
    return r;
}

static void print(struct path *path)
{
    double best = 0, ready[VARIANTS_MAX];

    for (size_t i = 0; i < path->count; i++) {
        ready[i] = bench_median(path->ways[i].ready_us, RUNS);
        if (path->ways[i].copies && (best == 0 || ready[i] < best))
            best = ready[i];
    }
    for (size_t i = 0; i < path->count; i++) {
        double read = bench_median(path->ways[i].read_us, RUNS);

        bench_next(path->bench);
        if (path->bench->json) {
            printf("{\"way\": \"%s\", \"width\": %u, \"height\": %u, \"ready_us\": %.1f, "
                   "\"read_us\": %.1f, \"ratio\": %.3f}",
                   path->ways[i].name, path->input.width, path->input.height, ready[i], read,
                   ready[i] / best);
        } else {
            printf("%-32s %4ux%-4u %9.1f %9.1f %7.2f\n", path->ways[i].name, path->input.width,
                   path->input.height, ready[i], read, ready[i] / best);
        }
    }
}

// Adds a kind of shared memory, unless this GPU has none of it.
static int add_kind(struct path *path, enum config_memory kind, enum config_flip flip,
                    struct error *error)
{
    struct way *way = &path->ways[path->count];
    int r = way_init(path, way, kind, false, flip, error);

    if (r == -ENOTSUP) {
        way_finish(way);
        return 0;
    }
    path->count++;
    return r;
}

static int add_mapped(struct path *path, struct error *error)
{
    int r = add_kind(path, CONFIG_MEMORY_REGISTERED, CONFIG_FLIP_NONE, error);

    r = r < 0 ? r : add_kind(path, CONFIG_MEMORY_REGISTERED, CONFIG_FLIP_ROTATE_180, error);
    r = r < 0 ? r : add_kind(path, CONFIG_MEMORY_REGISTERED, CONFIG_FLIP_ROTATE_90, error);
    return r < 0 ? r : add_kind(path, CONFIG_MEMORY_PINNED, CONFIG_FLIP_NONE, error);
}

static int add_managed(struct path *path, struct error *error)
{
    return add_kind(path, CONFIG_MEMORY_MANAGED, CONFIG_FLIP_NONE, error);
}

static int add_copies(struct path *path, enum config_memory kind, struct error *error)
{
    return way_init(path, &path->ways[path->count++], kind, true, CONFIG_FLIP_NONE, error);
}

// Adds the ways to be measured in turns.
typedef int path_ways(struct path *path, struct error *error);

static int measure(struct path *path, path_ways *add, struct error *error)
{
    int r = add(path, error);

    r = r < 0 ? r : add_copies(path, CONFIG_MEMORY_HOST, error);
    r = r < 0 ? r : add_copies(path, CONFIG_MEMORY_PINNED, error);
    for (unsigned burst = 0; burst < RUNS / BURST && r == 0; burst++) {
        for (size_t i = 0; i < path->count * BURST && r == 0; i++)
            r = go(path, &path->ways[i / BURST], burst * BURST + i % BURST);
    }
    if (r == 0)
        print(path);
    while (path->count > 0)
        way_finish(&path->ways[--path->count]);
    return r;
}

static int measure_size(struct path *path, uint32_t width, uint32_t height, path_ways *add,
                        struct error *error)
{
    int r;

    frame_layout_init(&path->input, pixel_format_by_name("YUYV"), width, height, 64);
    frame_layout_init(&path->output, pixel_format_by_name("NV12"), width, height, 64);
    path->camera = malloc(path->input.size + 4096);
    r = path->camera ? 0 : -ENOMEM;
    for (size_t k = 0; r == 0 && k < path->input.size + 4096; k++)
        path->camera[k] = (uint8_t)(k * k >> 7);
    r = r < 0 ? r : measure(path, add, error);
    free(path->camera);
    return r;
}

int bench_path(struct bench *bench)
{
    static const uint32_t sizes[][2] = {{1280, 720}, {1920, 1080}, {3840, 2160}};
    // Managed memory last: once a process has had any, all its launches take some 30 us longer.
    path_ways *const ways[] = {add_mapped, add_managed};
    struct path *path = calloc(1, sizeof *path);
    struct error error = {0};
    char columns[96];
    int r = path ? 0 : -ENOMEM;

    snprintf(columns, sizeof columns, "%-32s %9s %9s %9s %7s", "", "size", "ready us", "read us",
             "ratio");
    bench_begin(bench, "path",
                "A frame's path, YUYV to NV12 edges: ratio to the better of the explicit copies",
                columns);
    if (r == 0) {
        path->bench = bench;
        *(void **)&path->copy_to_host = dlsym(bench->driver->library, "cuMemcpyDtoHAsync_v2");
        r = path->copy_to_host ? 0 : -ENOSYS;
    }
    for (size_t i = 0; i < 2 * ARRAY_LENGTH(sizes) && r == 0; i++) {
        const uint32_t *size = sizes[i % ARRAY_LENGTH(sizes)];

        r = measure_size(path, size[0], size[1], ways[i / ARRAY_LENGTH(sizes)], &error);
    }
    bench_end(bench);
    if (r < 0)
        fprintf(stderr, "bench_gpu: %s\n", error.text);
    free(path);
    return r;
}
