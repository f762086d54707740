#include "kernels/erode.h"

#include "kernels/simd.h"
#include "kernels/stage.h"

#include <string.h>

// Keeps the elements left of the row in an aligned block of their own.
#define LEFT 64

static size_t row_bytes(uint32_t width)
{
    return LEFT + (size_t)width + STAGE_RADIUS_MAX;
}

static size_t scratch_bytes(uint32_t width)
{
    return 2 * row_bytes(width);
}

SIMD_CLONES
static void least_of_two(const uint8_t *restrict a, size_t width, uint8_t *restrict least)
{
    for (size_t x = 0; x < width; x++) {
        least[x] = a[x] < least[x] ? a[x] : least[x];
    }
}

// Of three neighbours in `row`, which has one more on either side.
SIMD_CLONES
static void least_of_three(const uint8_t *restrict row, size_t width, uint8_t *restrict least)
{
    for (size_t x = 0; x < width; x++) {
        uint8_t sides = row[x - 1] < row[x + 1] ? row[x - 1] : row[x + 1];

        least[x] = sides < row[x] ? sides : row[x];
    }
}

static int init(struct stage *stage, const struct stage_setup *setup, struct error *error)
{
    (void)error;
    stage->erode.times = (unsigned)setup->settings->erode;
    stage->radius = stage->erode.times;
    return 0;
}

static void run_row(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                    uint32_t width, void *scratch, uint8_t *output)
{
    uint8_t *column = (uint8_t *)scratch + LEFT, *other = column + row_bytes(width);

    (void)y;
    memcpy(column, rows[0], width);
    for (unsigned i = 1; i <= 2 * stage->radius; i++) {
        least_of_two(rows[i], width, column);
    }
    for (unsigned i = 1; i <= stage->erode.times; i++) {
        bool last = i == stage->erode.times;
        uint8_t *source = column;

        source[-1] = source[0];
        source[width] = source[width - 1];
        least_of_three(source, width, last ? output : other);
        column = other;
        other = source;
    }
}

const struct stage_ops erode_ops = {
    .name = "erode",
    .init = init,
    .scratch_bytes = scratch_bytes,
    .run_row = run_row,
};
