#include "kernels/demosaic/samples.h"

#include "kernels/stage/simd.h"

#include <math.h>
#include <string.h>

#define FACTOR_MAX (1 << 24) // the largest for which 255 of 24 bits and half of that fit 32 bits

SIMD_CLONES
static void unpack_8(const uint8_t *restrict row, size_t width, uint16_t *restrict output)
{
    for (size_t x = 0; x < width; x++) {
        output[x] = row[x];
    }
}

static void unpack_16(const uint8_t *restrict row, size_t width, uint16_t *restrict output)
{
    memcpy(output, row, width * sizeof *output);
}

// Four bytes with the upper bits, one with the lower ones.
SIMD_CLONES
static void unpack_10p(const uint8_t *restrict row, size_t width, uint16_t *restrict output)
{
    size_t x = 0;

    for (; x + 4 <= width; x += 4, row += 5) {
        for (unsigned i = 0; i < 4; i++) {
            output[x + i] = (uint16_t)(row[i] << 2 | (row[4] >> 2 * i & 3));
        }
    }
    for (unsigned i = 0; x + i < width; i++) {
        output[x + i] = (uint16_t)(row[i] << 2 | (row[4] >> 2 * i & 3));
    }
}

// Two bytes with the upper bits, one with the lower ones.
SIMD_CLONES
static void unpack_12p(const uint8_t *restrict row, size_t width, uint16_t *restrict output)
{
    size_t x = 0;

    for (; x + 2 <= width; x += 2, row += 3) {
        output[x] = (uint16_t)(row[0] << 4 | (row[2] & 15));
        output[x + 1] = (uint16_t)(row[1] << 4 | row[2] >> 4);
    }
    if (x < width) {
        output[x] = (uint16_t)(row[0] << 4 | (row[2] & 15));
    }
}

samples_unpack *samples_unpack_for(const struct pixel_format *format)
{
    if (format->mosaic.packed) {
        return format->mosaic.bits == 10 ? unpack_10p : unpack_12p;
    }
    return format->mosaic.bits == 8 ? unpack_8 : unpack_16;
}

struct demosaic_levels samples_levels(const struct frame_layout *layout)
{
    const struct frame_development *development = &layout->development;
    const double wanted[] = {development->red, development->green, development->blue};
    unsigned bits = layout->format->mosaic.bits;
    uint32_t white = (1U << bits) - 1, shift = 8 + bits;
    struct demosaic_levels levels = {
        .black = development->black < white ? development->black : white - 1, .shift = shift};

    for (size_t i = 0; i < ARRAY_LENGTH(wanted); i++) {
        double factor = ldexp(wanted[i] * 255, (int)shift) / (white - levels.black);
        uint32_t whole = factor < 1            ? 1
                         : factor > FACTOR_MAX ? FACTOR_MAX
                                               : (uint32_t)(factor + 0.5);
        uint32_t reach = (255U << shift) - (1U << (shift - 1));

        levels.factors[i] = whole;
        levels.limits[i] = (uint32_t)(((uint64_t)reach + whole - 1) / whole);
    }
    return levels;
}

// Two colours take turns, `colours` of them in the first two columns.
SIMD_CLONES
static void level_row(const struct demosaic_levels *levels, const unsigned colours[2],
                      const uint16_t *restrict samples, uint32_t width, uint8_t *restrict output)
{
    const uint32_t black = levels->black, shift = levels->shift, half = 1U << (shift - 1);
    const uint32_t even = levels->factors[colours[0]], odd = levels->factors[colours[1]];
    const uint32_t even_limit = levels->limits[colours[0]], odd_limit = levels->limits[colours[1]];

    for (uint32_t x = 0; x < width; x++) {
        uint32_t factor = x % 2 ? odd : even, limit = x % 2 ? odd_limit : even_limit;
        uint32_t above = samples[x] > black ? samples[x] - black : 0;
        uint32_t value = ((above < limit ? above : limit) * factor + half) >> shift;

        output[x] = (uint8_t)(value < 255 ? value : 255);
    }
}

void samples_level(const struct demosaic_levels *levels, const struct pixel_format *format,
                   uint32_t y, const uint16_t *restrict samples, size_t width,
                   uint8_t *restrict output)
{
    bool red = y % 2 == format->mosaic.red_y;
    bool first_is_green = red == (format->mosaic.red_x == 1);
    unsigned colour = red ? 0 : 2;
    const unsigned colours[2] = {first_is_green ? 1 : colour, first_is_green ? colour : 1};

    level_row(levels, colours, samples, width, output);
}
