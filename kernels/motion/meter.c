#include "kernels/motion/meter.h"

#include "kernels/gray/gray.h"
#include "kernels/motion/detector.h"
#include "kernels/motion/light.h"

#include <errno.h>
#include <string.h>

#define SAMPLES_MAX 8192 // pixels that tell what the light does

struct measured_region {
    size_t detector;
    struct detector_window window;
    uint64_t *mask;    // all rows of the picture
    uint64_t *columns; // a row: where something moves in any row so far
    uint32_t pixels, moving, top, bottom;
    bool unseen; // has pixels that the frame before was not kept of
};

struct meter {
    struct frame_layout layout;
    gray_row *gray;
    size_t words;                  // of a row
    struct detector_window window; // all regions'
    uint8_t *pictures[2]; // gray, rows of `words` * 64 bytes; the current one and the one before
    unsigned current;
    bool has_previous;
    uint32_t step; // pixels from sample to sample, both ways
    size_t sample_count;
    uint8_t *samples[2]; // as the pictures
    uint8_t *line;       // a row of gray
    struct detector *detectors;
    size_t detector_count;
    struct measured_region *regions;
    size_t region_count;
};

static void draw_row(const struct meter *meter, const struct meter_region *setup, uint32_t y,
                     uint64_t *bits)
{
    uint32_t width = meter->layout.width, height = meter->layout.height;

    if (setup->empty) {
        memset(bits, 0, meter->words * sizeof *bits);
    } else if (setup->picture) {
        region_draw_picture(setup->picture, width, height, y, bits);
    } else if (setup->settings->polygon_count > 0) {
        region_draw_polygon(setup->settings->polygon, setup->settings->polygon_count, width, height,
                            y, bits);
    } else {
        region_draw_all(width, bits);
    }
}

static void draw(const struct meter *meter, const struct meter_region *setup,
                 struct measured_region *region)
{
    for (uint32_t y = 0; y < meter->layout.height; y++) {
        uint64_t *bits = region->mask + y * meter->words;
        struct detector_window row = {y, y + 1, meter->words, 0};

        draw_row(meter, setup, y, bits);
        for (size_t i = 0; i < meter->words; i++) {
            if (bits[i]) {
                region->pixels += (uint32_t)__builtin_popcountll(bits[i]);
                row.left = i < row.left ? i : row.left;
                row.right = i + 1;
            }
        }
        if (row.left < row.right) {
            detector_window_grow(&region->window, &row);
        }
    }
}

// The detector for the settings, a new one if there is none yet.
static size_t find_detector(struct meter *meter, const struct config_region *settings)
{
    unsigned threshold = (unsigned)settings->threshold, erode = (unsigned)settings->erode;
    size_t i = 0;

    while (i < meter->detector_count &&
           (meter->detectors[i].threshold != threshold || meter->detectors[i].erode != erode)) {
        i++;
    }
    if (i == meter->detector_count) {
        meter->detectors[meter->detector_count++] =
            (struct detector){.threshold = threshold, .erode = erode};
    }
    return i;
}

static int prepare_regions(struct meter *meter, const struct meter_region *setups)
{
    for (size_t i = 0; i < meter->region_count; i++) {
        struct measured_region *region = &meter->regions[i];

        region->mask = calloc(meter->words * meter->layout.height, sizeof *region->mask);
        region->columns = calloc(meter->words, sizeof *region->columns);
        if (!region->mask || !region->columns) {
            return -ENOMEM;
        }
        draw(meter, &setups[i], region);
        region->detector = find_detector(meter, setups[i].settings);
        detector_window_grow(&meter->detectors[region->detector].window, &region->window);
    }
    for (size_t i = 0; i < meter->detector_count; i++) {
        struct detector *detector = &meter->detectors[i];

        if (detector_prepare(detector, meter->layout.width, meter->layout.height)) {
            return -ENOMEM;
        }
        detector_window_grow(&meter->window, &detector->window);
    }
    return 0;
}

// Every step-th pixel of every step-th row, the first in the middle of the first step.
static size_t count_samples(const struct frame_layout *layout, uint32_t step)
{
    return (size_t)((layout->width + step - 1 - step / 2) / step) *
           ((layout->height + step - 1 - step / 2) / step);
}

static int prepare_pictures(struct meter *meter)
{
    size_t line = meter->words * BITS_WORD;

    meter->step = 1;
    while (count_samples(&meter->layout, meter->step) > SAMPLES_MAX) {
        meter->step++;
    }
    meter->sample_count = count_samples(&meter->layout, meter->step);
    meter->line = calloc(1, line);
    for (unsigned i = 0; i < 2; i++) {
        meter->pictures[i] = calloc(meter->layout.height, line);
        meter->samples[i] = calloc(1, meter->sample_count);
        if (!meter->pictures[i] || !meter->samples[i] || !meter->line) {
            return -ENOMEM;
        }
    }
    return 0;
}

int meter_new(const struct frame_layout *layout, const struct meter_region *regions, size_t count,
              struct meter **ret_meter)
{
    struct meter *meter = calloc(1, sizeof *meter);
    int r;

    if (!meter) {
        return -ENOMEM;
    }
    meter->layout = *layout;
    meter->gray = gray_row_for(layout->format);
    meter->words = bits_words(layout->width);
    meter->regions = calloc(count + 1, sizeof *meter->regions);
    meter->detectors = calloc(count + 1, sizeof *meter->detectors);
    meter->region_count = meter->regions ? count : 0;
    r = meter->regions && meter->detectors ? prepare_pictures(meter) : -ENOMEM;
    r = r ? r : prepare_regions(meter, regions);
    if (r) {
        meter_free(meter);
        return r;
    }
    *ret_meter = meter;
    return 0;
}

static bool window_holds(const struct detector_window *window, const struct detector_window *other)
{
    return other->top >= other->bottom ||
           (window->top <= other->top && other->bottom <= window->bottom &&
            window->left <= other->left && other->right <= window->right);
}

void meter_take_over(struct meter *meter, struct meter *before)
{
    for (unsigned i = 0; i < 2; i++) {
        uint8_t *picture = meter->pictures[i], *sample = meter->samples[i];

        meter->pictures[i] = before->pictures[i];
        meter->samples[i] = before->samples[i];
        before->pictures[i] = picture;
        before->samples[i] = sample;
    }
    meter->current = before->current;
    meter->has_previous = before->has_previous;
    for (size_t i = 0; i < meter->region_count; i++) {
        meter->regions[i].unseen = !window_holds(&before->window, &meter->regions[i].window);
    }
}

void meter_free(struct meter *meter)
{
    if (!meter) {
        return;
    }
    for (size_t i = 0; i < meter->region_count; i++) {
        free(meter->regions[i].mask);
        free(meter->regions[i].columns);
    }
    for (size_t i = 0; i < meter->detector_count; i++) {
        detector_finish(&meter->detectors[i]);
    }
    for (unsigned i = 0; i < 2; i++) {
        free(meter->pictures[i]);
        free(meter->samples[i]);
    }
    free(meter->line);
    free(meter->regions);
    free(meter->detectors);
    free(meter);
}

uint32_t meter_pixels(const struct meter *meter, size_t region)
{
    return meter->regions[region].pixels;
}

static void take_samples(struct meter *meter, const struct frame *frame)
{
    uint8_t *sample = meter->samples[meter->current];
    size_t stride = meter->layout.planes[0].stride;

    for (uint32_t y = meter->step / 2; y < meter->layout.height; y += meter->step) {
        meter->gray(frame_plane(frame, 0) + y * stride, meter->layout.width, meter->line);
        for (uint32_t x = meter->step / 2; x < meter->layout.width; x += meter->step) {
            *sample++ = meter->line[x];
        }
    }
}

static void begin_detectors(struct meter *meter)
{
    struct light light = light_estimate(meter->samples[meter->current ^ 1],
                                        meter->samples[meter->current], meter->sample_count);
    struct bits_limits limits;

    for (size_t i = 0; i < meter->detector_count; i++) {
        struct detector *detector = &meter->detectors[i];

        detector_begin(detector,
                       light_limits(&light, detector->threshold, &limits) ? &limits : NULL);
    }
}

// What a detector found in row `y`, for its regions.
static void count_row(struct meter *meter, size_t detector, uint32_t y)
{
    const uint64_t *row = meter->detectors[detector].row;

    for (size_t i = 0; i < meter->region_count; i++) {
        struct measured_region *region = &meter->regions[i];
        const struct detector_window *window = &region->window;

        if (region->detector != detector || y < window->top || y >= window->bottom) {
            continue;
        }
        size_t moving =
            bits_count(row + window->left, region->mask + y * meter->words + window->left,
                       window->right - window->left, region->columns + window->left);
        if (moving > 0) {
            region->top = region->moving ? region->top : y;
            region->bottom = y + 1;
            region->moving += (uint32_t)moving;
        }
    }
}

static void detect_row(struct meter *meter, uint32_t y)
{
    size_t offset = (size_t)y * meter->words * BITS_WORD;
    const uint8_t *gray = meter->pictures[meter->current] + offset;
    const uint8_t *previous = meter->pictures[meter->current ^ 1] + offset;
    uint32_t complete;

    for (size_t i = 0; i < meter->detector_count; i++) {
        detector_push(&meter->detectors[i], y, gray, previous);
        while (detector_next(&meter->detectors[i], &complete)) {
            count_row(meter, i, complete);
        }
    }
}

static void read_region(struct measured_region *region, size_t words,
                        struct meter_reading *ret_reading)
{
    size_t first = 0, last = words - 1;

    if (region->unseen) {
        memset(region->columns, 0, words * sizeof *region->columns);
        region->moving = 0;
        region->unseen = false;
    }
    *ret_reading = (struct meter_reading){.pixels = region->pixels, .moving = region->moving};
    if (region->moving == 0) {
        return;
    }
    while (!region->columns[first]) {
        first++;
    }
    while (!region->columns[last]) {
        last--;
    }
    size_t left = first * BITS_WORD + (size_t)__builtin_ctzll(region->columns[first]);
    size_t right = (last + 1) * BITS_WORD - (size_t)__builtin_clzll(region->columns[last]);
    ret_reading->x = (uint32_t)left;
    ret_reading->width = (uint32_t)(right - left);
    ret_reading->y = region->top;
    ret_reading->height = region->bottom - region->top;
    memset(region->columns, 0, words * sizeof *region->columns);
    region->moving = 0;
}

void meter_run(struct meter *meter, const struct frame *frame, struct meter_reading *ret_readings)
{
    const struct frame_layout *layout = &meter->layout;
    const struct detector_window *window = &meter->window;
    size_t left = window->left * BITS_WORD, end = window->right * BITS_WORD;
    size_t right = end < layout->width ? end : layout->width;
    // A word of columns is a whole number of groups of samples in every format.
    size_t offset = left * layout->format->planes[0].bytes >> layout->format->planes[0].shift_x;

    meter->current ^= 1;
    take_samples(meter, frame);
    if (meter->has_previous) {
        begin_detectors(meter);
    }
    for (uint32_t y = window->top; y < window->bottom; y++) {
        meter->gray(frame_plane(frame, 0) + y * layout->planes[0].stride + offset, right - left,
                    meter->pictures[meter->current] + y * meter->words * BITS_WORD + left);
        if (meter->has_previous) {
            detect_row(meter, y);
        }
    }
    meter->has_previous = true;
    for (size_t i = 0; i < meter->region_count; i++) {
        read_region(&meter->regions[i], meter->words, &ret_readings[i]);
    }
}
