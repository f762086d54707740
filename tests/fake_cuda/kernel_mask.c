// mask.cu.
#include "kernels/mask_cuda.h"

#include "tests/fake_cuda/kernel.h"

#include <string.h>

static int run(const struct launch *launch)
{
    const struct mask_cuda *p = (const void *)launch->parameters;
    bool limited = strstr(launch->name, "_limited");
    const uint8_t *input =
        kernel_touch_rows(launch, p->input, p->input_stride, p->width, p->height);
    size_t tiles = (p->width + TILE_CUDA_PIXELS - 1) / TILE_CUDA_PIXELS * TILE_CUDA_PIXELS;
    const uint8_t *mask = kernel_touch_rows(launch, p->mask, p->mask_stride, tiles, p->height);
    uint8_t *output = kernel_touch_rows(launch, p->output, p->output_stride, p->width, p->height);

    if (!input || !mask || !output || p->mask % 8 || p->mask_stride % 8) {
        return RESULT_ILLEGAL_ADDRESS;
    }
    if (!kernel_covers(launch, TILE_CUDA_PIXELS, MASK_CUDA_ROWS, p->width, p->height)) {
        return 0;
    }
    for (size_t y = 0; y < p->height; y++) {
        for (size_t x = 0; x < p->width; x++) {
            output[y * p->output_stride + x] = kernel_in_range(
                limited, input[y * p->input_stride + x] & mask[y * p->mask_stride + x]);
        }
    }
    return 0;
}

#define NAME(range) "mask_" #range,
static const char *const names[] = {MASK_CUDA_KERNELS(NAME) NULL};

const struct kernel_kind kernel_mask = {names, {sizeof(struct mask_cuda)}, run};
