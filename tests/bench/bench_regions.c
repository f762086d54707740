// Time of measuring motion in regions, a look, and what the ten looks of a second take of a core,
// beside a memcpy of the luma: medians of turns, of frames that come out of memory.
//
// Frames of a pattern with noise take turns: nothing moves, a figure walks, everything moves, the
// light changes. Never fails by time.
#include "kernels/cells/cells.h"
#include "kernels/events/meter.h"
#include "tests/bench/bench.h"

#include "capture/frame_pool.h"

#include <stdio.h>
#include <string.h>

#define RUNS 201
#define FRAMES 16
#define LOOKS_A_SECOND 10

enum scene { STILL, FIGURE, ALL, LIGHT };

struct bed {
    struct frame_pool *pool;
    struct frame *frames[FRAMES];
};

static void bed_init(struct bed *bed, const char *format, uint32_t width, uint32_t height)
{
    struct frame_layout layout;

    frame_layout_init(&layout, pixel_format_by_name(format), width, height, 64);
    if (frame_pool_new(&layout, FRAMES, frame_allocator_host(), &bed->pool))
        abort();
    for (unsigned i = 0; i < FRAMES; i++)
        bed->frames[i] = frame_pool_take(bed->pool);
}

static void bed_finish(struct bed *bed)
{
    for (unsigned i = 0; i < FRAMES; i++)
        frame_unref(bed->frames[i]);
    frame_pool_unref(bed->pool);
}

// A ramp with noise of 4 levels and what the scene does to it.
static void paint(struct frame *frame, unsigned number, enum scene scene)
{
    size_t stride = frame->layout.planes[0].stride, bytes = frame->layout.planes[0].width_bytes;
    uint32_t noise = number + 1, gain = scene == LIGHT && number % 2 ? 140 : 100;
    size_t shift = scene == ALL ? number * bytes / 32 : 0;

    for (uint32_t y = 0; y < frame->layout.height; y++) {
        uint8_t *row = frame_plane(frame, 0) + y * stride;

        for (size_t x = 0; x < bytes; x++) {
            noise = noise * 1664525 + 1013904223;
            row[x] = (uint8_t)((40 + 100 * ((x + shift) % bytes) / bytes + (noise >> 30) +
                                40 * (((x + shift) * 16 / bytes + y / 64) % 2)) *
                               gain / 100);
        }
        if (scene == FIGURE && y > frame->layout.height / 3 && y < frame->layout.height / 2)
            memset(row + bytes / 4 + number * bytes / 64, 20, bytes / 32);
    }
}

static struct meter *new_meter(uint32_t width, uint32_t height, size_t count)
{
    static struct config_point corners[8][4];
    struct config_region settings[8];
    struct watched_region regions[8] = {{0}};
    struct meter *meter;

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
    if (meter_new(width, height, &meter) || meter_set_regions(meter, regions, count))
        abort();
    return meter;
}

static double measure(const struct bed *bed, size_t count, enum scene scene)
{
    const struct frame_layout *layout = &bed->frames[0]->layout;
    struct meter *meter = new_meter(layout->width, layout->height, count);
    static int64_t times[RUNS];
    struct region_reading readings[8];
    struct cells *cells;
    const uint8_t *means;

    if (cells_new(layout, NULL, NULL, NULL, &cells))
        abort();
    for (unsigned i = 0; i < FRAMES; i++)
        paint(bed->frames[i], i, scene);
    for (unsigned i = 0; i < RUNS; i++) {
        struct frame *frame = bed->frames[i % FRAMES];
        int64_t start = clock_now_ns();

        if (cells_begin(cells, frame, NULL) || cells_end(cells, frame, NULL, &means))
            abort();
        meter_look(meter, (int64_t)i * NS_PER_S / LOOKS_A_SECOND, means, readings);
        times[i] = clock_now_ns() - start;
    }
    cells_free(cells);
    meter_free(meter);
    return median_us(times, RUNS);
}

// Of so many pixels' luma, out of frames that take turns.
static double measure_copy(const struct bed *bed)
{
    const struct frame_layout *layout = &bed->frames[0]->layout;
    size_t size = (size_t)layout->width * layout->height;
    static int64_t times[RUNS];
    uint8_t *to = malloc(size);

    for (unsigned i = 0; i < RUNS; i++) {
        int64_t start = clock_now_ns();

        memcpy(to, bed->frames[i % FRAMES]->data, size);
        __asm__ volatile("" : : "r"(to) : "memory"); // somebody reads the copy
        times[i] = clock_now_ns() - start;
    }
    free(to);
    return median_us(times, RUNS);
}

int main(void)
{
    static const char *const formats[] = {"NV12", "YUYV", "XR24"};
    static const uint32_t sizes[][2] = {{640, 360}, {1280, 720}, {1920, 1080}, {3840, 2160}};

    puts("regions, us a look    memcpy   still  figure  all moves  light  8 polygons  ms a second");
    for (size_t size = 0; size < ARRAY_LENGTH(sizes); size++) {
        uint32_t width = sizes[size][0], height = sizes[size][1];

        for (size_t i = 0; i < ARRAY_LENGTH(formats); i++) {
            struct bed bed;

            bed_init(&bed, formats[i], width, height);
            double figure = measure(&bed, 1, FIGURE);
            printf("%4ux%-4u %s  %12.0f %7.0f %7.0f %10.0f %6.0f %11.0f %12.2f\n", width, height,
                   formats[i], measure_copy(&bed), measure(&bed, 1, STILL), figure,
                   measure(&bed, 1, ALL), measure(&bed, 1, LIGHT), measure(&bed, 8, FIGURE),
                   figure * LOOKS_A_SECOND / 1000);
            bed_finish(&bed);
        }
    }
    return 0;
}
