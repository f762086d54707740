// Time of measuring motion in regions, a frame, beside a memcpy of its luma: medians of turns.
//
// Two frames of a pattern with a moving part take turns, in steady light and in light that changes
// with every frame; and with nothing moving, beside a motion view. Never fails by time.
#include "kernels/events/meter.h"
#include "kernels/graph/graph.h"
#include "kernels/graph/view.h"
#include "tests/bench/bench.h"

#include "capture/frame_pool.h"

#include <stdio.h>
#include <string.h>

#define RUNS 201

static struct frame *make_frame(const char *format, uint32_t width, uint32_t height)
{
    struct frame_layout layout;
    struct frame_pool *pool;

    frame_layout_init(&layout, pixel_format_by_name(format), width, height, 64);
    if (frame_pool_new(&layout, 1, frame_allocator_host(), &pool)) {
        abort();
    }
    struct frame *frame = frame_pool_take(pool);
    frame_pool_unref(pool);
    return frame;
}

// A ramp with noise of 4 levels, brighter by `gain` percent; a block of it in another place in
// every frame.
static void paint(struct frame *frame, unsigned number, unsigned gain)
{
    size_t stride = frame->layout.planes[0].stride, bytes = frame->layout.planes[0].width_bytes;
    uint32_t noise = number + 1;

    for (uint32_t y = 0; y < frame->layout.height; y++) {
        uint8_t *row = frame_plane(frame, 0) + y * stride;

        for (size_t x = 0; x < bytes; x++) {
            noise = noise * 1664525 + 1013904223;
            row[x] = (uint8_t)((40 + 100 * x / bytes + (noise >> 30)) * gain / 100);
        }
        if (y > frame->layout.height / 3 && y < frame->layout.height / 2) {
            memset(row + bytes / 4 + number * bytes / 16, 20, bytes / 8);
        }
    }
}

static double measure(const char *format, uint32_t width, uint32_t height, size_t count,
                      unsigned gain)
{
    static struct config_point corners[8][4];
    struct config_region settings[8];
    struct watched_region regions[8] = {{0}};
    struct region_reading readings[8];
    static int64_t times[RUNS];
    struct frame *frames[2] = {make_frame(format, width, height),
                               make_frame(format, width, height)};
    struct graph *graph;
    struct meter *meter;

    paint(frames[0], 0, 100);
    paint(frames[1], 1, gain);
    for (size_t i = 0; i < count; i++) {
        double left = (double)i / 10;

        corners[i][0] = (struct config_point){left, 0};
        corners[i][1] = (struct config_point){left + 0.3, 0};
        corners[i][2] = (struct config_point){left + 0.2, 1};
        corners[i][3] = (struct config_point){left, 1};
        settings[i] = (struct config_region){
            .polygon = corners[i], .polygon_count = count > 1 ? 4 : 0, .threshold = 25, .erode = 1};
        regions[i].settings = &settings[i];
    }
    if (graph_new(&graph) || meter_new(graph, &frames[0]->layout, regions, count, &meter)) {
        abort();
    }
    for (unsigned i = 0; i < RUNS; i++) {
        int64_t start = clock_now_ns();

        graph_begin(graph);
        meter_begin(meter, frames[i % 2]);
        meter_run(meter, frames[i % 2], readings);
        times[i] = clock_now_ns() - start;
    }
    meter_free(meter);
    graph_free(graph);
    frame_unref(frames[0]);
    frame_unref(frames[1]);
    return median_us(times, RUNS);
}

// Which of a motion view and events are measured.
enum who { VIEW = 1, EVENTS = 2 };

// The two by the same threshold, while nothing moves.
static double measure_beside(const char *format, uint32_t width, uint32_t height, enum who who)
{
    static const struct config_view settings = {
        .view = CONFIG_VIEW_MOTION, .threshold = 25, .erode = 1};
    static const struct config_region all = {.threshold = 25, .erode = 1};
    static int64_t times[RUNS];
    struct frame *frames[2] = {make_frame(format, width, height),
                               make_frame(format, width, height)};
    const struct watched_region region = {.settings = &all};
    struct graph *graph;
    struct meter *meter = NULL;
    struct view *view = NULL;

    paint(frames[0], 0, 100);
    memcpy(frames[1]->data, frames[0]->data, frames[0]->layout.size);
    if (graph_new(&graph)) {
        abort();
    }
    const struct view_setup setup = {.settings = &settings,
                                     .input = &frames[0]->layout,
                                     .allocator = frame_allocator_host(),
                                     .graph = graph};
    if ((who & VIEW && view_new(&setup, NULL, &view)) ||
        (who & EVENTS && meter_new(graph, &frames[0]->layout, &region, 1, &meter))) {
        abort();
    }
    if (view) {
        view_set_active(view, true);
    }
    for (unsigned i = 0; i < RUNS; i++) {
        struct frame *frame = frames[i % 2], *picture = NULL;
        struct region_reading reading;
        int64_t start = clock_now_ns();

        graph_begin(graph);
        if (meter) {
            meter_begin(meter, frame);
        }
        if (view && view_run(view, frame, NULL, &picture)) {
            abort();
        }
        if (meter) {
            meter_run(meter, frame, &reading);
        }
        times[i] = clock_now_ns() - start;
        frame_unref(picture);
    }
    meter_free(meter);
    view_free(view);
    graph_free(graph);
    frame_unref(frames[0]);
    frame_unref(frames[1]);
    return median_us(times, RUNS);
}

static double measure_copy(size_t size)
{
    static int64_t times[RUNS];
    uint8_t *from = calloc(1, size), *to = malloc(size);

    for (unsigned i = 0; i < RUNS; i++) {
        int64_t start = clock_now_ns();

        memcpy(to, from, size);
        __asm__ volatile("" : : "r"(to) : "memory"); // somebody reads the copy
        times[i] = clock_now_ns() - start;
    }
    free(from);
    free(to);
    return median_us(times, RUNS);
}

int main(void)
{
    static const char *const formats[] = {"NV12", "YUYV", "XR24"};
    static const uint32_t sizes[][2] = {{1280, 720}, {1920, 1080}};

    puts("regions, us a frame                  whole picture  8 polygons  changing light");
    for (size_t size = 0; size < ARRAY_LENGTH(sizes); size++) {
        uint32_t width = sizes[size][0], height = sizes[size][1];

        for (size_t i = 0; i < ARRAY_LENGTH(formats); i++) {
            printf("%4ux%-4u %s  (memcpy of luma %4.0f) %13.0f %11.0f %15.0f\n", width, height,
                   formats[i], measure_copy((size_t)width * height),
                   measure(formats[i], width, height, 1, 100),
                   measure(formats[i], width, height, 8, 100),
                   measure(formats[i], width, height, 1, 140));
        }
    }
    puts("\nnothing moves, us a frame             motion view       events        both");
    for (size_t size = 0; size < ARRAY_LENGTH(sizes); size++) {
        uint32_t width = sizes[size][0], height = sizes[size][1];

        for (size_t i = 0; i < ARRAY_LENGTH(formats); i++) {
            printf("%4ux%-4u %s  %31.0f %12.0f %11.0f\n", width, height, formats[i],
                   measure_beside(formats[i], width, height, VIEW),
                   measure_beside(formats[i], width, height, EVENTS),
                   measure_beside(formats[i], width, height, VIEW | EVENTS));
        }
    }
    return 0;
}
