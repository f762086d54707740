// difference.cu.
#include "kernels/difference_cuda.h"

#include "tests/fake_cuda/kernel.h"

#include <stdlib.h>
#include <string.h>

// What a kernel reads and writes.
struct planes {
    const uint8_t *input, *previous;
    uint8_t *current, *output, *copy;
};

static void store_row(const struct launch *launch, const uint8_t *gray, const uint8_t *before,
                      uint8_t *output)
{
    const struct difference_cuda *p = (const void *)launch->parameters;
    bool limited = strstr(launch->name, "_limited"), bits = strstr(launch->name, "_bits");
    bool measure = strstr(launch->name, "_measure");

    for (uint32_t x = 0; x < p->width; x++) {
        uint32_t difference = before ? (uint32_t)abs(gray[x] - before[x]) : 0;
        bool moved = difference > p->threshold;

        if (bits) {
            output[x / 8] =
                (uint8_t)(x % 8 == 0 ? 0xfe | moved : output[x / 8] & ~(!moved << x % 8));
        } else {
            output[x] = kernel_in_range(limited, measure ? difference : moved * 255U);
        }
    }
}

static int run(const struct launch *launch)
{
    const struct difference_cuda *p = (const void *)launch->parameters;
    struct kernel_luma luma = kernel_luma_of(launch->name);
    size_t result = strstr(launch->name, "_bits") ? (p->width + 7) / 8 : p->width;
    const struct planes at = {
        kernel_touch_rows(launch, p->input, p->input_stride, p->width * luma.pixel_bytes,
                          p->height),
        p->previous ? kernel_touch_rows(launch, p->previous, p->plane_stride, p->width, p->height)
                    : NULL,
        kernel_touch_rows(launch, p->current, p->plane_stride, p->width, p->height),
        kernel_touch_rows(launch, p->output, p->output_stride, result, p->height),
        p->copy ? kernel_touch_rows(launch, p->copy, p->copy_stride, p->width, p->height) : NULL,
    };

    if (!at.input || (p->previous && !at.previous) || !at.current || !at.output ||
        (p->copy && !at.copy)) {
        return RESULT_ILLEGAL_ADDRESS;
    }
    if (!kernel_covers(launch, TILE_CUDA_PIXELS, DIFFERENCE_CUDA_ROWS, p->width, p->height)) {
        return 0;
    }
    for (size_t y = 0; y < p->height; y++) {
        uint8_t *gray = at.current + y * p->plane_stride;

        luma.row(at.input + y * p->input_stride, p->width, gray);
        if (at.copy) {
            memcpy(at.copy + y * p->copy_stride, gray, p->width);
        }
        store_row(launch, gray, at.previous ? at.previous + y * p->plane_stride : NULL,
                  at.output + y * p->output_stride);
    }
    return 0;
}

#define BITS_NAME(layout) "difference_" #layout "_bits",
#define BYTES_NAME(result, range) "difference_planar_" #result "_" #range,
static const char *const names[] = {DIFFERENCE_CUDA_BITS(BITS_NAME)
                                        DIFFERENCE_CUDA_BYTES(BYTES_NAME) NULL};

const struct kernel_kind kernel_difference = {names, {sizeof(struct difference_cuda)}, run};
