// A look of motion events at a camera's frame in registered memory, its cells by the GPU and,
// beside that in turns, by the CPU: at once, or ten a second, as the daemon looks. Medians in
// microseconds: until the readings are there, and the CPU time that the process took.
#include "kernels/cells/cells.h"
#include "kernels/events/meter.h"
#include "kernels/gpu/gpu_memory.h"
#include "tests/gpu/bench.h"

#include <stdio.h>
#include <string.h>

#define RUNS 24
#define LOOK_NS (NS_PER_S / 10)

struct times {
    double all_us[RUNS], cpu_us[RUNS];
};

struct looker {
    struct bench *bench;
    struct gpu_memory *memory; // owned
    struct frame_layout layout;
    struct frame_pool *frames;
    struct cells *cells[2]; // of the CPU and of the GPU
    struct meter *meters[2];
    struct times times[2];
};

static int looker_init(struct looker *looker, struct bench *bench, const struct bench_size *size,
                       struct error *error)
{
    static const struct config_region all = {.threshold = 25, .erode = 1};
    const struct watched_region region = {.settings = &all};
    int r = gpu_memory_new(bench->gpu, CONFIG_MEMORY_REGISTERED, error, &looker->memory);

    looker->bench = bench;
    frame_layout_init(&looker->layout, pixel_format_by_name("NV12"), size->width, size->height, 64);
    if (r == 0) {
        r = frame_pool_new(&looker->layout, 2, gpu_memory_allocator(looker->memory),
                           &looker->frames);
    }
    for (unsigned i = 0; i < 2 && r == 0; i++) {
        r = cells_new(&looker->layout, i ? bench->gpu : NULL, gpu_memory_allocator(looker->memory),
                      error, &looker->cells[i]);
        r = r < 0 ? r : meter_new(size->width, size->height, &looker->meters[i]);
        r = r < 0 ? r : meter_set_regions(looker->meters[i], &region, 1);
    }
    return r;
}

static void looker_finish(struct looker *looker)
{
    for (unsigned i = 0; i < 2; i++) {
        meter_free(looker->meters[i]);
        cells_free(looker->cells[i]);
    }
    frame_pool_unref(looker->frames);
    gpu_memory_free(looker->memory);
}

// A figure that walks.
static void draw(struct frame *frame, unsigned number)
{
    const struct frame_layout *layout = &frame->layout;
    uint32_t width = layout->width / 32, height = layout->height / 4;

    memset(frame->data, 100, layout->size);
    for (uint32_t y = 0; y < height; y++) {
        memset(frame->data + (height + y) * layout->planes[0].stride + number * width / 2, 30,
               width);
    }
}

static int look(void *context, unsigned gpu, unsigned index)
{
    struct looker *looker = context;
    struct times *times = &looker->times[gpu];
    _cleanup_(cleanup_frame) struct frame *frame = frame_pool_take(looker->frames);
    struct region_reading reading;
    struct error error = {0};
    const uint8_t *means;
    int64_t start_ns, start_cpu_ns;
    int r;

    draw(frame, index);
    start_ns = clock_now_ns();
    start_cpu_ns = bench_cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
    r = cells_begin(looker->cells[gpu], frame, &error);
    r = r < 0 ? r : cells_end(looker->cells[gpu], frame, &error, &means);
    if (r == 0)
        meter_look(looker->meters[gpu], (int64_t)index * LOOK_NS, means, &reading);
    times->cpu_us[index] = (double)(bench_cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - start_cpu_ns) / 1e3;
    times->all_us[index] = (double)(clock_now_ns() - start_ns) / 1e3;
    return r;
}

static void print(struct looker *looker, bool gpu, bool paced)
{
    struct times *times = &looker->times[gpu];
    double all = bench_median(times->all_us, RUNS), cpu = bench_median(times->cpu_us, RUNS);

    bench_next(looker->bench);
    if (looker->bench->json) {
        printf("{\"gpu\": %s, \"paced\": %s, \"width\": %u, \"height\": %u, \"all_us\": %.1f, "
               "\"cpu_us\": %.1f}",
               gpu ? "true" : "false", paced ? "true" : "false", looker->layout.width,
               looker->layout.height, all, cpu);
    } else {
        printf("%-18s %-13s %4ux%-4u %9.1f %9.1f\n", gpu ? "cells by the GPU" : "cells by the CPU",
               paced ? "10 a second" : "at once", looker->layout.width, looker->layout.height, all,
               cpu);
    }
}

static int measure(struct looker *looker, bool paced)
{
    int r = bench_alternate(RUNS, paced ? LOOK_NS : 0, look, looker);

    for (unsigned i = 0; i < 2 && r == 0; i++)
        print(looker, i, paced);
    return r;
}

int bench_cells(struct bench *bench)
{
    static const struct bench_size sizes[] = {{1280, 720}, {1920, 1080}, {3840, 2160}};
    struct error error = {0};
    char columns[96];
    int r = 0;

    snprintf(columns, sizeof columns, "%-32s %9s %9s %9s", "", "size", "all us", "CPU us");
    bench_begin(bench, "cells", "A look of motion events at NV12 in registered memory", columns);
    for (size_t i = 0; i < ARRAY_LENGTH(sizes) && r == 0; i++) {
        struct looker looker = {0};

        r = looker_init(&looker, bench, &sizes[i], &error);
        r = r < 0 ? r : measure(&looker, false);
        r = r < 0 ? r : measure(&looker, true);
        looker_finish(&looker);
    }
    bench_end(bench);
    if (r < 0)
        fprintf(stderr, "bench_gpu: %s\n", error.text);
    return r;
}
