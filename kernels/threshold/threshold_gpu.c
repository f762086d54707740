// Black and white on the GPU: point.cu with its name and its level; an automatic one stays on the
// device.
#include "kernels/gpu/point_cuda.h"
#include "kernels/levels/levels_gpu.h"

struct threshold_gpu {
    struct point_cuda parameters;
    struct levels_gpu levels; // of an automatic threshold
};

static unsigned takes(const struct gpu_stage_setup *setup)
{
    return setup->first ? 0 : gpu_stage_match(setup, STAGE_THRESHOLD);
}

static int init(struct gpu_stage *stage, const struct gpu_stage_setup *setup, struct error *error)
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

static int launch(struct gpu_stage *stage, const struct gpu_pictures *pictures,
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
                                                .takes = takes,
                                                .init = init,
                                                .launch = launch};
