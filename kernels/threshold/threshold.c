// Row stage: gray rows to black and white, 255 where a pixel is at least the threshold, else 0.
//
// cv2.threshold(gray, threshold - 1, 255, cv2.THRESH_BINARY).
#include "kernels/gpu/point_cuda.h"
#include "kernels/levels/levels.h"
#include "kernels/stage/compose.h"
#include "kernels/stage/simd.h"
#include "kernels/stage/stage.h"

#include <stdint.h>

struct threshold {
    uint8_t level; // of the frame, if it is automatic
    uint32_t width, height;
    struct pool *pool; // not owned; NULL: there is none
};

// The results below the level and from it on.
struct shades {
    uint8_t below, above;
};

SIMD_CLONES
static enum stage_result threshold_row(const uint8_t *restrict gray, uint8_t level,
                                       struct shades shades, size_t width, uint8_t *restrict output)
{
    uint8_t any = 0;

    for (size_t x = 0; x < width; x++) {
        output[x] = gray[x] >= level ? shades.above : shades.below;
        any |= output[x];
    }
    return any ? STAGE_WRITTEN : STAGE_BLACK;
}

static void scan(struct stage *stage, const uint8_t *plane, size_t stride, uint32_t first,
                 uint32_t end)
{
    struct threshold *threshold = stage->state;
    uint32_t histogram[256];

    (void)first;
    (void)end;
    levels_count(threshold->pool, plane, stride, threshold->width, threshold->height, histogram);
    threshold->level = levels_otsu(histogram);
}

static enum stage_result run_row(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                                 uint32_t width, void *scratch, uint8_t *output)
{
    const struct threshold *threshold = stage->state;
    struct shades shades = {0, 255};

    (void)y;
    (void)scratch;
    if (stage->limited)
        shades = (struct shades){compose_luma(0), compose_luma(255)};
    return threshold_row(rows[0], threshold->level, shades, width, output);
}

static int init(struct stage *stage, const struct stage_setup *setup, struct error *error)
{
    struct threshold *threshold = stage->state;

    (void)error;
    *threshold = (struct threshold){(uint8_t)setup->options->threshold, setup->input->width,
                                    setup->input->height, setup->pool};
    stage->scans = setup->options->threshold == CONFIG_THRESHOLD_OTSU;
    stage->run_row = run_row;
    return 0;
}

const struct stage_ops threshold_ops = {
    .state_bytes = sizeof(struct threshold),
    .init = init,
    .scan = scan,
    .limits = true,
};

// Black and white on the GPU: point.cu with its name and its level; an automatic one stays on the
// device.

struct threshold_gpu {
    struct point_cuda parameters;
    struct levels_gpu levels; // of an automatic threshold
};

static unsigned fuses(const struct gpu_stage_setup *setup)
{
    return setup->first ? 0 : gpu_stage_match(setup, STAGE_THRESHOLD);
}

static int init_gpu(struct gpu_stage *stage, const struct gpu_stage_setup *setup,
                    struct error *error)
{
    int threshold = setup->steps[0].options.threshold;
    struct threshold_gpu *state = stage->state;
    int r = gpu_stage_add_kernel(stage, CONFIG_KERNEL_THRESHOLD,
                                 (struct gpu_tile){JOB_PIXELS, JOB_ROWS}, error, "point_threshold");

    state->parameters.level = (uint32_t)threshold;
    state->parameters.white = gpu_stage_shade(setup, 255);
    state->parameters.black = gpu_stage_shade(setup, 0);
    if (r == 0 && threshold == CONFIG_THRESHOLD_OTSU) {
        r = levels_gpu_init(&state->levels, stage, "levels_otsu", error);
        state->parameters.found = state->levels.state + offsetof(struct levels_cuda_state, level);
    }
    return r;
}

static int launch_gpu(struct gpu_stage *stage, const struct gpu_pictures *pictures,
                      struct gpu_chain *chain, struct error *error)
{
    struct threshold_gpu *state = stage->state;
    int r =
        state->levels.state ? levels_gpu_add(&state->levels, &pictures->input, chain, error) : 0;

    gpu_job_set(&state->parameters.job, &pictures->input, &pictures->output);
    return r < 0 ? r
                 : gpu_chain_add(chain, &stage->kernels[0], &state->parameters.job,
                                 sizeof state->parameters, error);
}

const struct gpu_stage_ops threshold_gpu_ops = {.name = "threshold",
                                                .state_size = sizeof(struct threshold_gpu),
                                                .fuses = fuses,
                                                .init = init_gpu,
                                                .launch = launch_gpu};
