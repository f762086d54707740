// gray.cu.
#include "kernels/gray_cuda.h"

#include "tests/fake_cuda/kernel.h"

#include <string.h>

static int run(const struct launch *launch)
{
    const struct gray_cuda *p = (const void *)launch->parameters;
    struct kernel_luma luma = kernel_luma_of(launch->name);
    bool limited = strstr(launch->name, "_limited");
    const uint8_t *input = kernel_touch_rows(launch, p->input, p->input_stride,
                                             p->width * luma.pixel_bytes, p->height);
    uint8_t *output = kernel_touch_rows(launch, p->output, p->output_stride, p->width, p->height);

    if (!input || !output) {
        return RESULT_ILLEGAL_ADDRESS;
    }
    if (!kernel_covers(launch, TILE_CUDA_PIXELS, GRAY_CUDA_ROWS, p->width, p->height)) {
        return 0;
    }
    for (uint32_t y = 0; y < p->height; y++) {
        uint8_t *row = output + (size_t)y * p->output_stride;

        luma.row(input + (size_t)y * p->input_stride, p->width, row);
        for (uint32_t x = 0; limited && x < p->width; x++) {
            row[x] = kernel_in_range(true, row[x]);
        }
    }
    return 0;
}

#define NAME(layout, range) "gray_" #layout "_" #range,
static const char *const names[] = {GRAY_CUDA_KERNELS(NAME) NULL};

const struct kernel_kind kernel_gray = {names, {sizeof(struct gray_cuda)}, run};
