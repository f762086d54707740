// threshold.cu: black and white.
#include "kernels/threshold_cuda.h"

#include "tests/fake_cuda/kernel.h"

static int run_compare(const struct launch *launch)
{
    const struct threshold_compare_cuda *p = (const void *)launch->parameters;
    const struct levels_cuda_state *state =
        p->state ? kernel_touch_rows(launch, p->state, 0, sizeof *state, 1) : NULL;
    const uint8_t *input =
        kernel_touch_rows(launch, p->input, p->input_stride, p->width, p->height);
    uint8_t *output = kernel_touch_rows(launch, p->output, p->output_stride, p->width, p->height);

    if (!input || !output || (p->state && !state) || p->input % 8 || p->input_stride % 8) {
        return RESULT_ILLEGAL_ADDRESS;
    }
    if (!kernel_covers(launch, TILE_CUDA_PIXELS, THRESHOLD_CUDA_ROWS, p->width, p->height)) {
        return 0;
    }
    for (uint32_t y = 0; y < p->height; y++) {
        for (uint32_t x = 0; x < p->width; x++) {
            bool white =
                input[(size_t)y * p->input_stride + x] >= (state ? state->level : p->level);

            output[(size_t)y * p->output_stride + x] = (uint8_t)(white ? p->white : p->black);
        }
    }
    return 0;
}

static const char *const compare_names[] = {"threshold_compare", NULL};

const struct kernel_kind kernel_threshold = {
    compare_names, {sizeof(struct threshold_compare_cuda)}, run_compare};
