// gradient.cu: gray of every row, then magnitudes of three rows at a time.
#include "kernels/gradient_cuda.h"

#include "tests/fake_cuda/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define THRESHOLDS 256

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

// The largest result whose threshold `n` has reached.
static uint32_t look_up(const uint32_t *thresholds, uint32_t n)
{
    uint32_t low = 0, high = THRESHOLDS - 1;

    while (low < high) {
        uint32_t middle = (low + high + 1) / 2;

        if (thresholds[middle] <= n) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

// n = gx² + gy² or |gx| + |gy| of a row, from gray of the row above, the row, and the row below,
// each with a pixel more on either side.
static void sum_row(bool l2, const uint8_t *restrict t, const uint8_t *restrict m,
                    const uint8_t *restrict b, uint32_t width, uint32_t *restrict n)
{
    for (uint32_t x = 0; x < width; x++) {
        int gx = (t[x + 2] + 2 * m[x + 2] + b[x + 2]) - (t[x] + 2 * m[x] + b[x]);
        int gy = (b[x] + 2 * b[x + 1] + b[x + 2]) - (t[x] + 2 * t[x + 1] + t[x + 2]);

        n[x] = (uint32_t)(l2 ? gx * gx + gy * gy : abs(gx) + abs(gy));
    }
}

// Of gain 1, without the thresholds. No square root of an integer is halfway between two integers,
// so that of a float rounds as it would exactly.
static void root_row(uint32_t *n, uint32_t width)
{
    for (uint32_t x = 0; x < width; x++) {
        n[x] = (uint32_t)(sqrtf((float)n[x]) + 0.5F);
    }
}

static void make_row(const struct launch *launch, const uint32_t *thresholds,
                     const uint8_t *const rows[3], uint32_t *n, uint8_t *output)
{
    const struct gradient_cuda *p = (const void *)launch->parameters;
    bool l2 = strstr(launch->name, "_l2_"), limited = strstr(launch->name, "_limited");

    sum_row(l2, rows[0], rows[1], rows[2], p->width, n);
    if (p->unity && l2) {
        root_row(n, p->width);
    }
    for (uint32_t x = 0; x < p->width; x++) {
        uint32_t result = p->unity ? smaller(n[x], 255) : look_up(thresholds, n[x]);

        output[x] = kernel_in_range(limited, result);
    }
}

// Gray of the whole picture, each row with its border.
static void read_rows(const struct launch *launch, const uint8_t *input, size_t pitch,
                      uint8_t *gray)
{
    const struct gradient_cuda *p = (const void *)launch->parameters;
    struct kernel_luma luma = kernel_luma_of(launch->name);

    for (uint32_t y = 0; y < p->height; y++) {
        uint8_t *row = gray + y * pitch;

        luma.row(input + (size_t)y * p->input_stride, p->width, row + 1);
        row[0] = row[1];
        row[p->width + 1] = row[p->width];
    }
}

static int run(const struct launch *launch)
{
    const struct gradient_cuda *p = (const void *)launch->parameters;
    size_t row_bytes = p->width * kernel_luma_of(launch->name).pixel_bytes;
    const uint32_t *thresholds =
        kernel_touch_rows(launch, p->thresholds, 0, THRESHOLDS * sizeof *thresholds, 1);
    const uint8_t *input =
        kernel_touch_rows(launch, p->input, p->input_stride, row_bytes, p->height);
    uint8_t *output = kernel_touch_rows(launch, p->output, p->output_stride, p->width, p->height);
    size_t pitch = (size_t)p->width + 2;
    uint8_t *gray = malloc(p->height * pitch);
    uint32_t *n = malloc(p->width * sizeof *n);
    bool legal = thresholds && input && output && gray && n;

    if (legal && kernel_covers(launch, TILE_CUDA_PIXELS, p->rows, p->width, p->height)) {
        read_rows(launch, input, pitch, gray);
        for (uint32_t y = 0; y < p->height; y++) {
            const uint8_t *rows[] = {gray + (y > 0 ? y - 1 : 0) * pitch, gray + y * pitch,
                                     gray + smaller(y + 1, p->height - 1) * pitch};

            make_row(launch, thresholds, rows, n, output + (size_t)y * p->output_stride);
        }
    }
    free(n);
    free(gray);
    return legal ? 0 : RESULT_ILLEGAL_ADDRESS;
}

#define NAMES(layout)                                                                              \
    "gradient_" #layout "_l2_full", "gradient_" #layout "_l2_limited",                             \
        "gradient_" #layout "_l1_full", "gradient_" #layout "_l1_limited",
static const char *const names[] = {GRADIENT_CUDA_KERNELS(NAMES) NULL};

const struct kernel_kind kernel_gradient = {names, {sizeof(struct gradient_cuda)}, run};
