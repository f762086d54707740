#include "kernels/threshold.h"

#include "kernels/simd.h"
#include "kernels/stage.h"

SIMD_CLONES
static void threshold_row(const uint8_t *restrict gray, uint8_t level, size_t width,
                          uint8_t *restrict output)
{
    for (size_t x = 0; x < width; x++) {
        output[x] = gray[x] >= level ? 255 : 0;
    }
}

static int init(struct stage *stage, const struct stage_setup *setup, struct error *error)
{
    (void)error;
    stage->threshold.level = (uint8_t)setup->options->threshold;
    return 0;
}

static void run_row(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                    uint32_t width, void *scratch, uint8_t *output)
{
    (void)y;
    (void)scratch;
    threshold_row(rows[0], stage->threshold.level, width, output);
}

const struct stage_ops threshold_ops = {.name = "threshold", .init = init, .run_row = run_row};
