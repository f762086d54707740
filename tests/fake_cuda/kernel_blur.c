// blur.cu, by weights alone.
#include "kernels/blur_cuda.h"

#include "tests/fake_cuda/kernel.h"

#include <string.h>

#define SIDE 5

static uint32_t clamp(int64_t at, uint32_t count)
{
    return at < 0 ? 0 : at < count ? (uint32_t)at : count - 1;
}

static uint8_t blur_pixel(const struct blur_cuda *p, const uint8_t *input, const unsigned *weights,
                          uint32_t x, uint32_t y)
{
    unsigned sum = 0, whole = 0;

    for (int j = 0; j < SIDE; j++) {
        const uint8_t *row =
            input + (size_t)clamp((int64_t)y + j - SIDE / 2, p->height) * p->input_stride;

        for (int i = 0; i < SIDE; i++) {
            unsigned weight = weights[i] * weights[j];

            sum += weight * row[clamp((int64_t)x + i - SIDE / 2, p->width)];
            whole += weight;
        }
    }
    return (uint8_t)((sum + whole / 2) / whole);
}

static int run(const struct launch *launch)
{
    static const unsigned weights[][SIDE] = {{0, 1, 2, 1, 0}, {1, 4, 6, 4, 1}};
    const struct blur_cuda *p = (const void *)launch->parameters;
    const uint8_t *input =
        kernel_touch_rows(launch, p->input, p->input_stride, p->width, p->height);
    uint8_t *output = kernel_touch_rows(launch, p->output, p->output_stride, p->width, p->height);

    if (!input || !output) {
        return RESULT_ILLEGAL_ADDRESS;
    }
    if (!kernel_covers(launch, TILE_CUDA_PIXELS, p->rows, p->width, p->height)) {
        return 0;
    }
    for (uint32_t y = 0; y < p->height; y++) {
        for (uint32_t x = 0; x < p->width; x++) {
            output[(size_t)y * p->output_stride + x] =
                blur_pixel(p, input, weights[strcmp(launch->name, "blur_5") == 0], x, y);
        }
    }
    return 0;
}

#define NAME(side) "blur_" #side,
static const char *const names[] = {BLUR_CUDA_KERNELS(NAME) NULL};

const struct kernel_kind kernel_blur = {names, {sizeof(struct blur_cuda)}, run};
