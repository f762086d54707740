#include "kernels/events/light.h"

#include <stdlib.h>
#include <string.h>

#define ONE (1 << 16)
#define GROUPS 8
#define PAIRS (GROUPS * (GROUPS - 1) / 2)
#define APART 8 // levels between two points that make a line
#define SAMPLES_MIN 64
#define GAIN_MIN (ONE / 8)
#define GAIN_MAX (8 * ONE)
#define DARK 20 // samples below and above tell nothing: the range may end there
#define BRIGHT 230
#define BLACK 16 // where the range ends, at the latest
#define WHITE 235
#define CAP 32 // levels: a sample that is off by so much has moved, however far it is off

struct point {
    int32_t previous, current; // levels
};

static bool is_usable(uint8_t previous, uint8_t current)
{
    return previous >= DARK && previous <= BRIGHT && current >= DARK && current <= BRIGHT;
}

// The level below which half of `total` lie.
static int32_t median_level(const uint32_t *histogram, uint32_t total)
{
    uint32_t below = 0;
    int32_t level = 0;

    while (level < 255 && 2 * (below + histogram[level]) <= total) {
        below += histogram[level++];
    }
    return level;
}

static int compare(const void *a, const void *b)
{
    int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;

    return (first > second) - (first < second);
}

static int64_t median(int64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

// Which group each level before belongs to, by where the middle of its samples lies among all.
static void group_levels(const uint32_t *histogram, uint32_t total, uint8_t *ret_groups)
{
    uint32_t below = 0;

    for (unsigned level = 0; level < 256; level++) {
        uint64_t middle = 2 * (uint64_t)below + histogram[level];
        uint64_t group = middle * GROUPS / (2 * (uint64_t)total);

        ret_groups[level] = (uint8_t)(group < GROUPS ? group : GROUPS - 1);
        below += histogram[level];
    }
}

// The points of the groups that have samples; returns how many.
static size_t find_points(const uint8_t *previous, const uint8_t *current, size_t count,
                          struct point *ret_points)
{
    uint32_t all[256] = {0}, before[GROUPS][256] = {{0}}, now[GROUPS][256] = {{0}};
    uint32_t total = 0, totals[GROUPS] = {0};
    uint8_t groups[256];
    size_t points = 0;

    for (size_t i = 0; i < count; i++) {
        uint32_t usable = is_usable(previous[i], current[i]);

        all[previous[i]] += usable;
        total += usable;
    }
    if (total < SAMPLES_MIN) {
        return 0;
    }
    group_levels(all, total, groups);
    for (size_t i = 0; i < count; i++) {
        unsigned group = groups[previous[i]];
        uint32_t usable = is_usable(previous[i], current[i]);

        before[group][previous[i]] += usable;
        now[group][current[i]] += usable;
        totals[group] += usable;
    }
    for (unsigned group = 0; group < GROUPS; group++) {
        if (totals[group] > 0) {
            ret_points[points++] = (struct point){median_level(before[group], totals[group]),
                                                  median_level(now[group], totals[group])};
        }
    }
    return points;
}

// False when the points are on no line that light could draw.
static bool fit(const struct point *points, size_t count, struct light *ret_light)
{
    int64_t slopes[PAIRS] = {0}, offsets[GROUPS] = {0};
    size_t pairs = 0;
    int64_t gain;

    for (size_t i = 0; i < count; i++) {
        for (size_t j = i + 1; j < count; j++) {
            int32_t apart = points[j].previous - points[i].previous;

            if (apart >= APART) {
                slopes[pairs++] = (int64_t)(points[j].current - points[i].current) * ONE / apart;
            }
        }
    }
    for (size_t i = 0; pairs == 0 && i < count; i++) {
        slopes[i] = (int64_t)points[i].current * ONE / points[i].previous;
    }
    gain = median(slopes, pairs ? pairs : count);
    for (size_t i = 0; i < count; i++) {
        offsets[i] = points[i].current * (int64_t)ONE - gain * points[i].previous;
    }
    if (gain < GAIN_MIN || gain > GAIN_MAX) {
        return false;
    }
    *ret_light = (struct light){(int32_t)gain, pairs ? (int32_t)median(offsets, count) : 0};
    return true;
}

static uint8_t clamp(int32_t level)
{
    return (uint8_t)(level < 0 ? 0 : level > 255 ? 255 : level);
}

// What `level` becomes, rounded, within the range of a byte.
static int32_t predict(const struct light *light, int32_t level)
{
    int64_t exact = (int64_t)light->gain * level + light->offset;

    return clamp((int32_t)((exact + ONE / 2) >> 16));
}

// How far samples are from what they should be, in levels, a moved one no more than CAP.
static size_t cost(const uint8_t *previous, const uint8_t *current, size_t count,
                   const struct light *light)
{
    int32_t expected[256];
    size_t sum = 0;

    for (int32_t level = 0; level < 256; level++) {
        expected[level] = predict(light, level);
    }
    for (size_t i = 0; i < count; i++) {
        int off = abs(current[i] - expected[previous[i]]);

        sum += (size_t)(off > CAP ? CAP : off);
    }
    return sum;
}

struct light light_estimate(const uint8_t *previous, const uint8_t *current, size_t count)
{
    const struct light steady = {ONE, 0};
    struct light light = steady;
    struct point points[GROUPS];
    size_t found = find_points(previous, current, count, points);

    if (found == 0 || !fit(points, found, &light)) {
        return steady;
    }
    return cost(previous, current, count, &light) < cost(previous, current, count, &steady)
               ? light
               : steady;
}

bool light_limits(const struct light *light, unsigned threshold, struct bits_limits *ret_limits)
{
    int32_t shift = 0;

    for (int32_t level = BLACK; level <= WHITE; level++) {
        int32_t by = abs(predict(light, level) - level);

        shift = by > shift ? by : shift;
    }
    if (4 * shift <= (int32_t)threshold) {
        return false;
    }
    for (int32_t level = 0; level < 256; level++) {
        int32_t still = predict(light, level);
        bool dark = level <= BLACK || still <= BLACK, bright = level >= WHITE || still >= WHITE;
        int32_t low = (still < WHITE ? still : WHITE) - (int32_t)threshold;
        int32_t high = (still > BLACK ? still : BLACK) + (int32_t)threshold;

        ret_limits->low[level] = dark ? 0 : clamp(low);
        ret_limits->high[level] = bright ? 255 : clamp(high);
    }
    return true;
}
