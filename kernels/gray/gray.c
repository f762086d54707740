#include "kernels/gray/gray.h"

#include "kernels/gpu/point_cuda.h"
#include "kernels/stage/gpu_stage.h"
#include "kernels/stage/stage.h"

#include <string.h>

struct gray {
    gray_row *row;
};

// Bytes from which on memcpy() copies a row without reading its target's memory first, where the
// CPU can; below, it waits for each line of it.
#define LONG_ROW 2048

SIMD_CLONES
static void gray_planar(const uint8_t *restrict row, size_t width, uint8_t *restrict gray)
{
    size_t x = 0;

    for (; width < LONG_ROW && x + SIMD_BLOCK <= width; x += SIMD_BLOCK) {
        simd_read_ahead(row + x);
        simd_write_ahead(gray + x);
        memcpy(gray + x, row + x, SIMD_BLOCK);
    }
    memcpy(gray + x, row + x, width - x);
}

SIMD_CLONES
static void gray_yuyv(const uint8_t *restrict row, size_t width, uint8_t *restrict gray)
{
    for (size_t x = 0; x < width; x++)
        gray[x] = row[2 * x];
}

SIMD_CLONES
static void gray_uyvy(const uint8_t *restrict row, size_t width, uint8_t *restrict gray)
{
    for (size_t x = 0; x < width; x++)
        gray[x] = row[2 * x + 1];
}

SIMD_CLONES
static void gray_rgb3(const uint8_t *restrict row, size_t width, uint8_t *restrict gray)
{
    for (size_t x = 0; x < width; x++)
        gray[x] = gray_weigh(row[3 * x], row[3 * x + 1], row[3 * x + 2]);
}

SIMD_CLONES
static void gray_bgr3(const uint8_t *restrict row, size_t width, uint8_t *restrict gray)
{
    for (size_t x = 0; x < width; x++)
        gray[x] = gray_weigh(row[3 * x + 2], row[3 * x + 1], row[3 * x]);
}

SIMD_CLONES
static void gray_xr24(const uint8_t *restrict row, size_t width, uint8_t *restrict gray)
{
    for (size_t x = 0; x < width; x++)
        gray[x] = gray_weigh(row[4 * x + 2], row[4 * x + 1], row[4 * x]);
}

gray_row *gray_row_for(const struct pixel_format *format)
{
    if (format->luma_step == 1)
        return gray_planar;
    if (format->luma_step == 2)
        return format->luma_offset == 0 ? gray_yuyv : gray_uyvy;
    if (format->planes[0].bytes == 4)
        return gray_xr24;
    return strcmp(format->name, "BGR3") == 0 ? gray_bgr3 : gray_rgb3;
}

static enum stage_result run_row(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                                 uint32_t width, void *scratch, uint8_t *output)
{
    const struct gray *gray = stage->state;

    (void)y;
    (void)scratch;
    gray->row(rows[0], width, output);
    return STAGE_WRITTEN;
}

static int init(struct stage *stage, const struct stage_setup *setup, struct error *error)
{
    struct gray *gray = stage->state;

    (void)error;
    gray->row = gray_row_for(setup->input->format);
    stage->run_row = run_row;
    return 0;
}

const struct stage_ops gray_ops = {.state_bytes = sizeof(struct gray), .init = init};

// The gray view on the GPU: point.cu with its name.

static unsigned fuses(const struct gpu_stage_setup *setup)
{
    return setup->first ? gpu_stage_match(setup, STAGE_GRAY) : 0;
}

static int init_gpu(struct gpu_stage *stage, const struct gpu_stage_setup *setup,
                    struct error *error)
{
    return gpu_stage_add_kernel(
        stage, CONFIG_KERNEL_GRAY, (struct gpu_tile){JOB_PIXELS, JOB_ROWS_CHROMA}, error,
        "point_gray_%s_%s", gpu_stage_layout(setup), gpu_stage_limited(setup) ? "limited" : "full");
}

const struct gpu_stage_ops gray_gpu_ops = {.name = "gray",
                                           .state_size = sizeof(struct point_cuda),
                                           .fuses = fuses,
                                           .init = init_gpu,
                                           .launch = gpu_stage_launch};
