#include "kernels/events/meter.h"

#include "kernels/difference/difference.h"
#include "kernels/events/light.h"
#include "kernels/graph/graph.h"
#include "kernels/gray/gray.h"

#include <errno.h>
#include <string.h>

#define SAMPLES_MAX 8192 // pixels that tell what the light does

// Regions of equal threshold have what differs in common, with each other and with the motion views
// of that threshold on the CPU.
struct meter_threshold {
    int threshold;
    struct graph_part *difference; // owned
    uint32_t first, end;           // the rows that are looked at: first..end-1
};

// Of them, those of equal erosion have what that leaves in common, too.
struct detector {
    size_t threshold;
    uint32_t erode;
    uint32_t top, bottom; // the rows that its regions have
};

// The tally of a region: which pixels it has, and how many of them move in a frame, and where.
struct tally {
    size_t words;         // of a row
    uint32_t top, bottom; // the first of its rows and the one behind the last; equal: it has none
    size_t left, right;   // words, likewise
    uint64_t *mask;       // owned; all rows of the picture
    uint64_t *columns;    // owned; a row: where something moves in any row so far
    uint32_t pixels, moving, first, end; // first..end-1: the rows in which something moves
};

struct measured_region {
    struct tally tally;
    size_t detector;
};

struct meter {
    struct graph *graph; // not owned
    struct frame_layout layout;
    gray_row *gray;
    size_t words;  // of a row
    uint32_t step; // pixels from sample to sample, both ways
    size_t sample_count;
    uint8_t *samples[2]; // of the current frame and of the one before
    unsigned current;
    bool has_previous;
    bool begun;    // the frame is: its light is known
    uint8_t *line; // a row of gray
    uint64_t *row; // of bits
    struct meter_threshold *thresholds;
    size_t threshold_count;
    struct detector *detectors;
    size_t detector_count;
    struct measured_region *regions;
    size_t region_count;
};

static void draw_row(const struct watched_region *region, uint32_t width, uint32_t height,
                     uint32_t y, uint64_t *bits)
{
    if (region->empty) {
        memset(bits, 0, bits_words(width) * sizeof *bits);
    } else if (region->picture) {
        region_draw_picture(region->picture, width, height, y, bits);
    } else if (region->settings->polygon_count > 0) {
        region_draw_polygon(region->settings->polygon, region->settings->polygon_count, width,
                            height, y, bits);
    } else {
        region_draw_all(width, bits);
    }
}

// Of a row that is drawn.
static void count_pixels(struct tally *tally, uint32_t y)
{
    const uint64_t *bits = tally->mask + y * tally->words;

    for (size_t i = 0; i < tally->words; i++) {
        if (bits[i]) {
            tally->pixels += (uint32_t)__builtin_popcountll(bits[i]);
            tally->left = i < tally->left ? i : tally->left;
            tally->right = i + 1 > tally->right ? i + 1 : tally->right;
            tally->top = tally->top == tally->bottom ? y : tally->top;
            tally->bottom = y + 1;
        }
    }
}

// For pictures of `width` x `height`. -ENOMEM: there is still something to finish.
static int tally_init(struct tally *tally, const struct watched_region *region, uint32_t width,
                      uint32_t height)
{
    size_t words = bits_words(width);

    *tally = (struct tally){.words = words, .left = words};
    tally->mask = calloc(words * height, sizeof *tally->mask);
    tally->columns = calloc(words, sizeof *tally->columns);
    if (!tally->mask || !tally->columns) {
        return -ENOMEM;
    }
    for (uint32_t y = 0; y < height; y++) {
        draw_row(region, width, height, y, tally->mask + y * words);
        count_pixels(tally, y);
    }
    return 0;
}

static void tally_finish(struct tally *tally)
{
    free(tally->mask);
    free(tally->columns);
}

// Row `y` of a frame, from the top down: `bits` that are set have moved.
static void tally_add_row(struct tally *tally, uint32_t y, const uint64_t *bits)
{
    if (y < tally->top || y >= tally->bottom) {
        return;
    }
    size_t moving = bits_count(bits + tally->left, tally->mask + y * tally->words + tally->left,
                               tally->right - tally->left, tally->columns + tally->left);
    if (moving > 0) {
        tally->first = tally->moving ? tally->first : y;
        tally->end = y + 1;
        tally->moving += (uint32_t)moving;
    }
}

// What there was in all rows of the frame; the next one begins.
static struct region_reading tally_read(struct tally *tally)
{
    struct region_reading reading = {.pixels = tally->pixels, .moving = tally->moving};
    const uint64_t *columns = tally->columns;
    size_t first = tally->left, last = tally->right - 1;

    if (tally->moving == 0) {
        return reading;
    }
    while (!columns[first]) {
        first++;
    }
    while (!columns[last]) {
        last--;
    }
    size_t left = first * BITS_WORD + (size_t)__builtin_ctzll(columns[first]);
    size_t right = (last + 1) * BITS_WORD - (size_t)__builtin_clzll(columns[last]);
    reading.x = (uint32_t)left;
    reading.width = (uint32_t)(right - left);
    reading.y = tally->first;
    reading.height = tally->end - tally->first;
    memset(tally->columns, 0, tally->words * sizeof *columns);
    tally->moving = 0;
    return reading;
}

// Makes first..*end-1 hold all of other..other_end-1, too; a range is empty where both ends are
// equal.
static void grow_rows(uint32_t *first, uint32_t *end, uint32_t other, uint32_t other_end)
{
    if (other == other_end) {
        return;
    }
    if (*first == *end) {
        *first = other;
        *end = other_end;
    }
    *first = other < *first ? other : *first;
    *end = other_end > *end ? other_end : *end;
}

static size_t find_threshold(struct meter *meter, int threshold)
{
    size_t i = 0;

    while (i < meter->threshold_count && meter->thresholds[i].threshold != threshold) {
        i++;
    }
    if (i == meter->threshold_count) {
        meter->thresholds[meter->threshold_count++].threshold = threshold;
    }
    return i;
}

// The detector for the settings, a new one if there is none yet.
static size_t find_detector(struct meter *meter, const struct config_region *settings)
{
    size_t threshold = find_threshold(meter, settings->threshold), i = 0;
    uint32_t erode = (uint32_t)settings->erode;

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

// What a detector looks at: the rows of its regions, and those that erosion looks at around them.
static void look_at(struct meter *meter, const struct detector *detector)
{
    struct meter_threshold *threshold = &meter->thresholds[detector->threshold];
    uint32_t erode = detector->erode, below = meter->layout.height - detector->bottom;

    if (detector->top < detector->bottom) {
        grow_rows(&threshold->first, &threshold->end,
                  detector->top - (erode < detector->top ? erode : detector->top),
                  detector->bottom + (erode < below ? erode : below));
    }
}

static int prepare_regions(struct meter *meter, const struct watched_region *setups)
{
    for (size_t i = 0; i < meter->region_count; i++) {
        struct measured_region *region = &meter->regions[i];

        if (tally_init(&region->tally, &setups[i], meter->layout.width, meter->layout.height)) {
            return -ENOMEM;
        }
        region->detector = find_detector(meter, setups[i].settings);
        struct detector *detector = &meter->detectors[region->detector];
        grow_rows(&detector->top, &detector->bottom, region->tally.top, region->tally.bottom);
    }
    for (size_t i = 0; i < meter->detector_count; i++) {
        look_at(meter, &meter->detectors[i]);
    }
    for (size_t i = 0; i < meter->threshold_count; i++) {
        struct meter_threshold *threshold = &meter->thresholds[i];

        if (graph_watch(meter->graph, &meter->layout, threshold->threshold,
                        &threshold->difference)) {
            return -ENOMEM;
        }
    }
    return 0;
}

// Every step-th pixel of every step-th row, the first in the middle of the first step.
static size_t count_samples(const struct frame_layout *layout, uint32_t step)
{
    return (size_t)((layout->width + step - 1 - step / 2) / step) *
           ((layout->height + step - 1 - step / 2) / step);
}

static int prepare_samples(struct meter *meter)
{
    meter->step = 1;
    while (count_samples(&meter->layout, meter->step) > SAMPLES_MAX) {
        meter->step++;
    }
    meter->sample_count = count_samples(&meter->layout, meter->step);
    meter->samples[0] = calloc(1, meter->sample_count);
    meter->samples[1] = calloc(1, meter->sample_count);
    meter->line = calloc(1, meter->layout.width);
    meter->row = calloc(meter->words, sizeof *meter->row);
    return meter->samples[0] && meter->samples[1] && meter->line && meter->row ? 0 : -ENOMEM;
}

int meter_new(struct graph *graph, const struct frame_layout *layout,
              const struct watched_region *regions, size_t count, struct meter **ret_meter)
{
    struct meter *meter = calloc(1, sizeof *meter);
    int r;

    if (!meter) {
        return -ENOMEM;
    }
    meter->graph = graph;
    meter->layout = *layout;
    meter->gray = gray_row_for(layout->format);
    meter->words = bits_words(layout->width);
    meter->regions = calloc(count + 1, sizeof *meter->regions);
    meter->thresholds = calloc(count + 1, sizeof *meter->thresholds);
    meter->detectors = calloc(count + 1, sizeof *meter->detectors);
    meter->region_count = meter->regions ? count : 0;
    r = meter->regions && meter->thresholds && meter->detectors ? prepare_samples(meter) : -ENOMEM;
    r = r ? r : prepare_regions(meter, regions);
    if (r) {
        meter_free(meter);
        return r;
    }
    *ret_meter = meter;
    return 0;
}

void meter_free(struct meter *meter)
{
    if (!meter) {
        return;
    }
    for (size_t i = 0; i < meter->region_count; i++) {
        tally_finish(&meter->regions[i].tally);
    }
    for (size_t i = 0; i < meter->threshold_count; i++) {
        graph_unwatch(meter->thresholds[i].difference);
    }
    free(meter->samples[0]);
    free(meter->samples[1]);
    free(meter->line);
    free(meter->row);
    free(meter->thresholds);
    free(meter->detectors);
    free(meter->regions);
    free(meter);
}

uint32_t meter_pixels(const struct meter *meter, size_t region)
{
    return meter->regions[region].tally.pixels;
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

// Finds out what the light does, for all that is computed of the frame.
static void begin(struct meter *meter, const struct frame *frame)
{
    struct light light;

    meter->current ^= 1;
    take_samples(meter, frame);
    light = light_estimate(meter->samples[meter->current ^ 1], meter->samples[meter->current],
                           meter->has_previous ? meter->sample_count : 0);
    for (size_t i = 0; i < meter->threshold_count; i++) {
        const struct meter_threshold *threshold = &meter->thresholds[i];
        struct bits_limits limits;
        bool changes = light_limits(&light, (unsigned)threshold->threshold, &limits);

        difference_set_limits(graph_difference(threshold->difference), changes ? &limits : NULL);
    }
    meter->has_previous = meter->begun = true;
}

void meter_begin(struct meter *meter, const struct frame *frame)
{
    bool shared = false;

    meter->begun = false; // the frame before may have failed
    for (size_t i = 0; i < meter->threshold_count; i++) {
        shared |= graph_difference_is_shared(meter->thresholds[i].difference);
    }
    if (shared) {
        begin(meter, frame);
    }
}

// What is left of each row, for the regions of that detector.
static void detect(struct meter *meter, size_t index)
{
    const struct detector *detector = &meter->detectors[index];
    const struct stage *difference =
        graph_difference(meter->thresholds[detector->threshold].difference);

    for (uint32_t y = detector->top; y < detector->bottom; y++) {
        bool left = difference_erode(difference, true, y, detector->erode, meter->row);

        for (size_t i = 0; i < meter->region_count && left; i++) {
            if (meter->regions[i].detector == index) {
                tally_add_row(&meter->regions[i].tally, y, meter->row);
            }
        }
    }
}

void meter_run(struct meter *meter, const struct frame *frame, struct region_reading *ret_readings)
{
    if (!meter->begun) {
        begin(meter, frame);
    }
    for (size_t i = 0; i < meter->threshold_count; i++) {
        const struct meter_threshold *threshold = &meter->thresholds[i];

        graph_compare(threshold->difference, frame, threshold->first, threshold->end);
    }
    for (size_t i = 0; i < meter->detector_count; i++) {
        detect(meter, i);
    }
    for (size_t i = 0; i < meter->region_count; i++) {
        ret_readings[i] = tally_read(&meter->regions[i].tally);
    }
}
