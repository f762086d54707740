// morphology.cu, square by square.
#include "kernels/morphology_cuda.h"

#include "tests/fake_cuda/kernel.h"

#include <stdlib.h>
#include <string.h>

static uint32_t times_of(const char *name)
{
    return (uint32_t)atoi(strchr(name, '_') + 1);
}

// Whether a pixel as bright as `wanted` lies in the square around (x, y), as far as that is in the
// picture.
static bool holds(const struct morphology_cuda *p, const uint8_t *input, uint32_t times, uint32_t x,
                  uint32_t y, uint8_t wanted)
{
    uint32_t left = x > times ? x - times : 0, top = y > times ? y - times : 0;

    for (uint32_t j = top; j <= y + times && j < p->height; j++) {
        for (uint32_t i = left; i <= x + times && i < p->width; i++) {
            if (input[(size_t)j * p->input_stride + i] == wanted) {
                return true;
            }
        }
    }
    return false;
}

static int run(const struct launch *launch)
{
    const struct morphology_cuda *p = (const void *)launch->parameters;
    uint32_t times = times_of(launch->name);
    const uint8_t *input =
        kernel_touch_rows(launch, p->input, p->input_stride, p->width, p->height);
    uint8_t *output = kernel_touch_rows(launch, p->output, p->output_stride, p->width, p->height);

    if (!input || !output || p->input % 8 || p->input_stride % 8) {
        return RESULT_ILLEGAL_ADDRESS;
    }
    if (!kernel_covers(launch, TILE_CUDA_PIXELS, (uint32_t)MORPHOLOGY_CUDA_ROWS(times), p->width,
                       p->height)) {
        return 0;
    }
    for (uint32_t y = 0; y < p->height; y++) {
        for (uint32_t x = 0; x < p->width; x++) {
            bool white =
                p->erodes ? !holds(p, input, times, x, y, 0) : holds(p, input, times, x, y, 255);

            output[(size_t)y * p->output_stride + x] = (uint8_t)(white ? p->white : p->black);
        }
    }
    return 0;
}

#define NAME(times) "morphology_" #times,
static const char *const names[] = {MORPHOLOGY_CUDA_KERNELS(NAME) NULL};

const struct kernel_kind kernel_morphology = {names, {sizeof(struct morphology_cuda)}, run};
