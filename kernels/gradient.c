// Columns first: sums and differences of three pixels above each other are 16 bit rows in L1, and
// everything horizontal, the replicated border included, happens on them. So the input rows are
// read where they are, without padding.
#include "kernels/gradient.h"

#include "kernels/simd.h"
#include "kernels/stage.h"

#include <errno.h>
#include <math.h>

// Keeps the element left of the row in its own aligned block.
#define LEFT 32
static size_t row_elements(uint32_t width)
{
    return LEFT + (((size_t)width + 63) & ~(size_t)63) + MAGNITUDE_PADDING;
}

static size_t scratch_bytes(uint32_t width)
{
    return row_elements(width) * (2 * sizeof(int16_t) + sizeof(uint32_t));
}

SIMD_CLONES
static void add_columns(const uint8_t *restrict top, const uint8_t *restrict middle,
                        const uint8_t *restrict bottom, size_t width, int16_t *restrict sums,
                        int16_t *restrict differences)
{
    for (size_t x = 0; x < width; x++) {
        sums[x] = (int16_t)(top[x] + 2 * middle[x] + bottom[x]);
        differences[x] = (int16_t)(bottom[x] - top[x]);
    }
}

static void replicate_border(int16_t *row, uint32_t width)
{
    row[-1] = row[0];
    row[width] = row[width - 1];
}

SIMD_CLONES
static void square_row(const int16_t *restrict sums, const int16_t *restrict differences,
                       size_t width, uint32_t last, uint32_t *restrict indices)
{
    const int16_t *s = sums - 1, *d = differences - 1;

    for (size_t x = 0; x < width; x++) {
        int gx = s[x + 2] - s[x], gy = d[x] + 2 * d[x + 1] + d[x + 2];
        uint32_t n = (uint32_t)(gx * gx + gy * gy);

        indices[x] = n < last ? n : last;
    }
}

SIMD_CLONES
static void add_row(const int16_t *restrict sums, const int16_t *restrict differences, size_t width,
                    uint32_t last, uint32_t *restrict indices)
{
    const int16_t *s = sums - 1, *d = differences - 1;

    for (size_t x = 0; x < width; x++) {
        int gx = s[x + 2] - s[x], gy = d[x] + 2 * d[x + 1] + d[x + 2];
        uint32_t n = (uint32_t)((gx < 0 ? -gx : gx) + (gy < 0 ? -gy : gy));

        indices[x] = n < last ? n : last;
    }
}

static void run_row(const struct stage *stage, const uint8_t *const *rows, uint32_t width,
                    void *scratch, uint8_t *output)
{
    const struct gradient *gradient = &stage->gradient;
    size_t elements = row_elements(width);
    uint32_t *indices = scratch;
    int16_t *sums = (int16_t *)(indices + elements) + LEFT, *differences = sums + elements;

    add_columns(rows[0], rows[1], rows[2], width, sums, differences);
    replicate_border(sums, width);
    replicate_border(differences, width);
    if (gradient->magnitude) {
        gradient->magnitude(sums, differences, width, output);
        return;
    }
    (gradient->norm == CONFIG_NORM_L2 ? square_row : add_row)(sums, differences, width,
                                                              gradient->table_last, indices);
    for (uint32_t x = 0; x < width; x++) {
        output[x] = gradient->table[indices[x]];
    }
}

uint8_t gradient_result(enum config_norm norm, double gain, uint32_t n)
{
    double magnitude = rint(gain * (norm == CONFIG_NORM_L2 ? sqrt(n) : n));

    return magnitude < 255 ? (uint8_t)magnitude : 255;
}

static int build_table(struct gradient *gradient, double gain)
{
    uint32_t reach =
        gradient->norm == CONFIG_NORM_L2 ? 2 * GRADIENT_REACH * GRADIENT_REACH : 2 * GRADIENT_REACH;

    gradient->table = malloc((size_t)reach + 1);
    if (!gradient->table) {
        return -ENOMEM;
    }
    for (uint32_t n = 0; n <= reach; n++) {
        gradient->table[n] = gradient_result(gradient->norm, gain, n);
        gradient->table_last = n;
        if (gradient->table[n] == 255) {
            break;
        }
    }
    return 0;
}

static int init(struct stage *stage, const struct stage_setup *setup, struct error *error)
{
    struct gradient *gradient = &stage->gradient;

    gradient->norm = setup->settings->norm;
    if (setup->settings->gain != 1.0) {
        int r = build_table(gradient, setup->settings->gain);

        return r < 0 ? error_set(error, r, "no memory for the table of magnitudes") : 0;
    }
    gradient->magnitude =
        gradient->norm == CONFIG_NORM_L2 ? magnitude_make_best()->l2 : magnitude_row_l1;
    return 0;
}

static void finish(struct stage *stage)
{
    free(stage->gradient.table);
}

const struct stage_ops gradient_ops = {
    .name = "gradient",
    .radius = 1,
    .init = init,
    .finish = finish,
    .scratch_bytes = scratch_bytes,
    .run_row = run_row,
};
