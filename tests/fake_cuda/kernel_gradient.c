// gradient.cu and operator.cu: gray of every row, then magnitudes of five rows at a time.
#include "kernels/gradient_cuda.h"

#include "tests/fake_cuda/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define THRESHOLDS 256
#define REACH 2U // pixels around one that any filter looks at
#define WINDOW (2 * REACH + 1)

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

struct filter {
    const char *name;
    int smooth[WINDOW], derive[WINDOW];
};

// Of the operator in a kernel's name; gradient_… is the Sobel's.
static const struct filter *filter_of(const char *kernel)
{
    static const struct filter filters[] = {
        {"scharr", {0, 3, 10, 3, 0}, {0, -1, 0, 1, 0}},
        {"prewitt", {0, 1, 1, 1, 0}, {0, -1, 0, 1, 0}},
        {"sobel5", {1, 4, 6, 4, 1}, {-1, -2, 0, 2, 1}},
        {"", {0, 1, 2, 1, 0}, {0, -1, 0, 1, 0}},
    };
    const struct filter *filter = filters;

    while (!strstr(kernel, filter->name)) {
        filter++;
    }
    return filter;
}

// Scratch memory for rows of a picture, each with a border of REACH.
struct sums {
    int *smooth, *derive;
    uint32_t *n;
};

// n = gx² + gy² or |gx| + |gy| of a row, from gray of WINDOW rows.
static void sum_row(const struct filter *filter, bool l2, const uint8_t *const rows[WINDOW],
                    uint32_t width, const struct sums *sums)
{
    int *restrict smooth = sums->smooth, *restrict derive = sums->derive;
    uint32_t *restrict n = sums->n;

    for (uint32_t x = 0; x < width + 2 * REACH; x++) {
        smooth[x] = derive[x] = 0;
        for (uint32_t i = 0; i < WINDOW; i++) {
            smooth[x] += filter->smooth[i] * rows[i][x];
            derive[x] += filter->derive[i] * rows[i][x];
        }
    }
    for (uint32_t x = 0; x < width; x++) {
        int gx = 0, gy = 0;

        for (uint32_t i = 0; i < WINDOW; i++) {
            gx += filter->derive[i] * smooth[x + i];
            gy += filter->smooth[i] * derive[x + i];
        }
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
                     const uint8_t *const rows[WINDOW], const struct sums *sums, uint8_t *output)
{
    const struct gradient_cuda *p = (const void *)launch->parameters;
    bool l2 = strstr(launch->name, "_l2_"), limited = strstr(launch->name, "_limited");
    bool binary = strstr(launch->name, "_binary");
    uint32_t *n = sums->n;

    sum_row(filter_of(launch->name), l2, rows, p->width, sums);
    for (uint32_t x = 0; binary && x < p->width; x++) {
        output[x] = (uint8_t)(n[x] >= p->least ? p->white : p->black);
    }
    if (!binary && p->unity && l2) {
        root_row(n, p->width);
    }
    for (uint32_t x = 0; !binary && x < p->width; x++) {
        uint32_t result = p->unity ? smaller(n[x], 255) : look_up(thresholds, n[x]);

        output[x] = kernel_in_range(limited, result);
    }
}

static struct kernel_luma luma_of(const char *name)
{
    return kernel_luma_of(strncmp(name, "operator", 8) == 0 ? "operator_planar" : name);
}

// Gray of the whole picture, each row with its border.
static void read_rows(const struct launch *launch, const uint8_t *input, size_t pitch,
                      uint8_t *gray)
{
    const struct gradient_cuda *p = (const void *)launch->parameters;
    struct kernel_luma luma = luma_of(launch->name);

    for (uint32_t y = 0; y < p->height; y++) {
        uint8_t *row = gray + y * pitch;

        luma.row(input + (size_t)y * p->input_stride, p->width, row + REACH);
        memset(row, row[REACH], REACH);
        memset(row + REACH + p->width, row[REACH + p->width - 1], REACH);
    }
}

static void make_rows(const struct launch *launch, const uint32_t *thresholds, const uint8_t *gray,
                      size_t pitch, const struct sums *sums, uint8_t *output)
{
    const struct gradient_cuda *p = (const void *)launch->parameters;

    for (uint32_t y = 0; y < p->height; y++) {
        const uint8_t *rows[WINDOW];

        for (uint32_t i = 0; i < WINDOW; i++) {
            uint32_t row = y + i > REACH ? y + i - REACH : 0;

            rows[i] = gray + smaller(row, p->height - 1) * pitch;
        }
        make_row(launch, thresholds, rows, sums, output + (size_t)y * p->output_stride);
    }
}

static int run(const struct launch *launch)
{
    const struct gradient_cuda *p = (const void *)launch->parameters;
    size_t row_bytes = p->width * luma_of(launch->name).pixel_bytes;
    const uint32_t *thresholds =
        kernel_touch_rows(launch, p->thresholds, 0, THRESHOLDS * sizeof *thresholds, 1);
    const uint8_t *input =
        kernel_touch_rows(launch, p->input, p->input_stride, row_bytes, p->height);
    uint8_t *output = kernel_touch_rows(launch, p->output, p->output_stride, p->width, p->height);
    size_t pitch = (size_t)p->width + 2 * REACH;
    uint8_t *gray = malloc(p->height * pitch);
    struct sums sums = {malloc(pitch * sizeof(int)), malloc(pitch * sizeof(int)),
                        malloc(p->width * sizeof(uint32_t))};
    bool legal = thresholds && input && output && gray && sums.smooth && sums.derive && sums.n;

    if (legal && kernel_covers(launch, TILE_CUDA_PIXELS, p->rows, p->width, p->height)) {
        read_rows(launch, input, pitch, gray);
        make_rows(launch, thresholds, gray, pitch, &sums, output);
    }
    free(sums.smooth);
    free(sums.derive);
    free(sums.n);
    free(gray);
    return legal ? 0 : RESULT_ILLEGAL_ADDRESS;
}

#define NORMS(prefix, name)                                                                        \
    prefix #name "_l2_full", prefix #name "_l2_limited", prefix #name "_l1_full",                  \
        prefix #name "_l1_limited",
#define GRADIENTS(layout)                                                                          \
    NORMS("gradient_", layout) "gradient_" #layout "_l2_binary", "gradient_" #layout "_l1_binary",
#define OPERATORS(name) NORMS("operator_", name)
static const char *const names[] = {GRADIENT_CUDA_KERNELS(GRADIENTS)
                                        OPERATOR_CUDA_KERNELS(OPERATORS) NULL};

const struct kernel_kind kernel_gradient = {names, {sizeof(struct gradient_cuda)}, run};
