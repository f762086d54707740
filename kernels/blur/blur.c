// Columns first, as the gradient does it: weighed sums of the pixels above each other are a 16 bit
// row in L1. With blur 5 the largest sum of both passes is 256 * 255 and leaves room for the 128
// that rounds, so 16 bits hold everything.
#include "kernels/blur/blur.h"

#include "kernels/stage/simd.h"
#include "kernels/stage/stage.h"

#define RADIUS_MAX 2
// Keeps the elements left of the row in an aligned block of their own.
#define LEFT 32

static size_t scratch_bytes(uint32_t width)
{
    return (LEFT + (size_t)width + RADIUS_MAX) * sizeof(uint16_t);
}

SIMD_CLONES
static void add_3(const uint8_t *restrict a, const uint8_t *restrict b, const uint8_t *restrict c,
                  size_t width, uint16_t *restrict sums)
{
    for (size_t x = 0; x < width; x++) {
        sums[x] = (uint16_t)(a[x] + 2 * b[x] + c[x]);
    }
}

static void columns_3(const uint8_t *const *rows, size_t width, uint16_t *restrict sums)
{
    add_3(rows[0], rows[1], rows[2], width, sums);
}

SIMD_CLONES
static void row_3(const uint16_t *restrict s, size_t width, uint8_t *restrict output)
{
    for (size_t x = 0; x < width; x++) {
        output[x] = (uint8_t)((uint16_t)(s[x - 1] + 2 * s[x] + s[x + 1] + 8) >> 4);
    }
}

SIMD_CLONES
static void add_5(const uint8_t *restrict a, const uint8_t *restrict b, const uint8_t *restrict c,
                  const uint8_t *restrict d, const uint8_t *restrict e, size_t width,
                  uint16_t *restrict sums)
{
    for (size_t x = 0; x < width; x++) {
        sums[x] = (uint16_t)(a[x] + e[x] + 4 * (b[x] + d[x]) + 6 * c[x]);
    }
}

static void columns_5(const uint8_t *const *rows, size_t width, uint16_t *restrict sums)
{
    add_5(rows[0], rows[1], rows[2], rows[3], rows[4], width, sums);
}

SIMD_CLONES
static void row_5(const uint16_t *restrict s, size_t width, uint8_t *restrict output)
{
    for (size_t x = 0; x < width; x++) {
        uint16_t sum = (uint16_t)(s[x - 2] + s[x + 2] + 4 * (s[x - 1] + s[x + 1]) + 6 * s[x] + 128);

        output[x] = (uint8_t)(sum >> 8);
    }
}

static const struct blur squares[] = {{1, columns_3, row_3}, {2, columns_5, row_5}};

static enum stage_result run_row(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                                 uint32_t width, void *scratch, uint8_t *output)
{
    const struct blur *blur = stage->state;
    uint16_t *sums = (uint16_t *)scratch + LEFT;

    (void)y;
    blur->columns(rows, width, sums);
    for (uint32_t i = 0; i < RADIUS_MAX; i++) {
        sums[-1 - (int)i] = sums[0];
        sums[width + i] = sums[width - 1];
    }
    blur->row(sums, width, output);
    return STAGE_WRITTEN;
}

static int init(struct stage *stage, const struct stage_setup *setup, struct error *error)
{
    struct blur *blur = stage->state;

    (void)error;
    *blur = squares[setup->options->blur == 5];
    stage->radius = blur->radius;
    stage->scratch_bytes = scratch_bytes(setup->input->width);
    stage->run_row = run_row;
    return 0;
}

const struct stage_ops blur_ops = {
    .state_bytes = sizeof(struct blur),
    .init = init,
};
