// difference.cu.
#include "kernels/difference_cuda.h"

#include "tests/fake_cuda/kernel.h"

#include <stdlib.h>
#include <string.h>

static int run(const struct launch *launch)
{
    const struct difference_cuda *p = (const void *)launch->parameters;
    bool limited = strstr(launch->name, "_limited"), measure = strstr(launch->name, "_measure");
    const uint8_t *input =
        kernel_touch_rows(launch, p->input, p->input_stride, p->width, p->height);
    const uint8_t *previous =
        p->previous ? kernel_touch_rows(launch, p->previous, p->plane_stride, p->width, p->height)
                    : NULL;
    uint8_t *current = kernel_touch_rows(launch, p->current, p->plane_stride, p->width, p->height);
    uint8_t *output = kernel_touch_rows(launch, p->output, p->output_stride, p->width, p->height);

    if (!input || (p->previous && !previous) || !current || !output) {
        return RESULT_ILLEGAL_ADDRESS;
    }
    if (!kernel_covers(launch, TILE_CUDA_PIXELS, DIFFERENCE_CUDA_ROWS, p->width, p->height)) {
        return 0;
    }
    for (size_t y = 0; y < p->height; y++) {
        memcpy(current + y * p->plane_stride, input + y * p->input_stride, p->width);
        for (size_t x = 0; x < p->width; x++) {
            int gray = input[y * p->input_stride + x];
            uint32_t by = previous ? (uint32_t)abs(gray - previous[y * p->plane_stride + x]) : 0;

            output[y * p->output_stride + x] =
                kernel_in_range(limited, measure ? by : (by > p->threshold) * 255U);
        }
    }
    return 0;
}

#define NAME(result, range) "difference_" #result "_" #range,
static const char *const names[] = {DIFFERENCE_CUDA_KERNELS(NAME) NULL};

const struct kernel_kind kernel_difference = {names, {sizeof(struct difference_cuda)}, run};
