// levels.cu: the histogram of gray, and what the CPU makes of it.
#include "kernels/levels/levels_cuda.h"

#include "kernels/canny/canny.h"
#include "kernels/levels/levels.h"
#include "tests/fakes/cuda/kernel.h"

#include <string.h>

// Whether every warp finds its way: a block has all its threads.
static bool is_whole(const struct launch *launch)
{
    return launch->threads_x % LEVELS_CUDA_THREADS == 0 && launch->threads_y == 1;
}

// The largest u for which 2 u² is no more than that.
static uint32_t quiet_below(int32_t low)
{
    uint32_t u = 0;

    while (2 * (u + 1) * (u + 1) <= (uint32_t)low) {
        u++;
    }
    return u;
}

static void find(const char *name, struct levels_cuda_state *state)
{
    struct suppress_limits limits;

    if (strcmp(name, "levels_otsu") == 0) {
        state->level = levels_otsu(state->histogram);
        return;
    }
    limits = canny_limits_by_median(state->histogram);
    state->limits = (struct levels_cuda_limits){
        (float)limits.low * 0x1p-48F, (float)limits.high * 0x1p-48F, quiet_below(limits.low)};
}

static int run(const struct launch *launch)
{
    const struct levels_cuda *p = (const void *)launch->parameters;
    struct levels_cuda_state *state = kernel_touch_rows(launch, p->state, 0, sizeof *state, 1);
    const uint8_t *input =
        kernel_touch_rows(launch, p->input, p->input_stride, p->width, p->height);

    if (!input || !state || !is_whole(launch)) {
        return RESULT_ILLEGAL_ADDRESS;
    }
    for (uint32_t y = 0; y < p->height; y++) {
        for (uint32_t x = 0; x < p->width; x++) {
            state->histogram[input[(size_t)y * p->input_stride + x]]++;
        }
    }
    find(launch->name, state);
    memset(state->histogram, 0, sizeof state->histogram);
    return 0;
}

#define NAME(what) "levels_" #what,
static const char *const names[] = {LEVELS_CUDA_KERNELS(NAME) NULL};

const struct kernel_kind kernel_levels = {names, {sizeof(struct levels_cuda)}, run};
