// Row stage: gray rows smoothed by a square of binomial weights, borders replicated.
//
//   blur 3: [1 2 1]² / 16          (sum + 8) >> 4
//   blur 5: [1 4 6 4 1]² / 256     (sum + 128) >> 8
//
// Rounded half up, once, at the end: what cv2.GaussianBlur(gray, (3, 3) or (5, 5), 0) makes of 8
// bit pictures with BORDER_REPLICATE.
//
// Columns first, as the gradient does it: weighed sums of the pixels above each other are a 16 bit
// row in L1. With blur 5 the largest sum of both passes is 256 * 255 and leaves room for the 128
// that rounds, so 16 bits hold everything.
#include "kernels/stage/gpu_stage.h"
#include "kernels/stage/simd.h"
#include "kernels/stage/stage.h"

#include <stddef.h>
#include <stdint.h>

// Weighed sums of the columns of 3 or 5 rows.
typedef void blur_columns(const uint8_t *const *rows, size_t width, uint16_t *restrict sums);
// `sums` with two elements more on either side to `width` pixels.
typedef void blur_row(const uint16_t *restrict sums, size_t width, uint8_t *restrict output);

struct blur {
    unsigned radius;
    blur_columns *columns;
    blur_row *row;
};

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
    for (size_t x = 0; x < width; x++)
        sums[x] = (uint16_t)(a[x] + 2 * b[x] + c[x]);
}

static void columns_3(const uint8_t *const *rows, size_t width, uint16_t *restrict sums)
{
    add_3(rows[0], rows[1], rows[2], width, sums);
}

SIMD_CLONES
static void row_3(const uint16_t *restrict s, size_t width, uint8_t *restrict output)
{
    for (size_t x = 0; x < width; x++)
        output[x] = (uint8_t)((uint16_t)(s[x - 1] + 2 * s[x] + s[x + 1] + 8) >> 4);
}

SIMD_CLONES
static void add_5(const uint8_t *restrict a, const uint8_t *restrict b, const uint8_t *restrict c,
                  const uint8_t *restrict d, const uint8_t *restrict e, size_t width,
                  uint16_t *restrict sums)
{
    for (size_t x = 0; x < width; x++)
        sums[x] = (uint16_t)(a[x] + e[x] + 4 * (b[x] + d[x]) + 6 * c[x]);
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

// Smoother gray on the GPU: blur.cu with its name and its tile.

static unsigned fuses(const struct gpu_stage_setup *setup)
{
    return setup->count > 0 && setup->steps[0].kind == STAGE_BLUR;
}

static int init_gpu(struct gpu_stage *stage, const struct gpu_stage_setup *setup,
                    struct error *error)
{
    struct gpu_tile tile = {JOB_PIXELS, setup->mapped && setup->first ? JOB_ROWS_MAPPED : JOB_ROWS};

    return gpu_stage_add_kernel(stage, CONFIG_KERNEL_BLUR, tile, error, "blur_%d",
                                setup->steps[0].options.blur == 5 ? 5 : 3);
}

const struct gpu_stage_ops blur_gpu_ops = {.name = "blur",
                                           .state_size = sizeof(struct gpu_job),
                                           .fuses = fuses,
                                           .init = init_gpu,
                                           .launch = gpu_stage_launch};
