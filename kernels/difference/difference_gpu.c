#include "kernels/difference/difference_gpu.h"

#include "kernels/gpu/point_cuda.h"

#include <string.h>

int difference_gpu_init(struct difference_gpu *difference, struct gpu_stage *stage,
                        const struct gpu_stage_setup *setup, struct error *error)
{
    const struct frame_layout *camera = setup->camera;
    int r = 0;

    for (unsigned i = 0; i < 2 && r == 0; i++) {
        r = gpu_stage_add_plane(stage, camera->width, camera->height, error, &difference->gray[i]);
    }
    return r;
}

void difference_gpu_forget(struct difference_gpu *difference)
{
    difference->any = false;
}

void difference_gpu_next(struct difference_gpu *difference, uint64_t *ret_current,
                         uint64_t *ret_previous)
{
    *ret_previous = difference->any ? difference->gray[difference->current].address : 0;
    difference->current ^= 1;
    difference->any = true;
    *ret_current = difference->gray[difference->current].address;
}

// Of a plane of gray: bytes, or bits for mark.cu with all that follows.
struct difference_stage {
    struct point_cuda parameters;
    struct difference_gpu difference;
};

static unsigned takes(const struct gpu_stage_setup *setup)
{
    bool planar = strcmp(gpu_stage_layout(setup), "planar") == 0;

    return planar && setup->steps[0].kind == STAGE_DIFFERENCE
               ? gpu_stage_match(setup, STAGE_DIFFERENCE)
               : 0;
}

static int init(struct gpu_stage *stage, const struct gpu_stage_setup *setup, struct error *error)
{
    bool automatic = setup->steps[0].options.threshold == CONFIG_THRESHOLD_OTSU;
    struct difference_stage *state = stage->state;
    int r = gpu_stage_add_kernel(stage, CONFIG_KERNEL_DIFFERENCE,
                                 (struct gpu_tile){JOB_PIXELS, JOB_ROWS}, error,
                                 "point_difference_%s_%s", automatic ? "measure" : "mask",
                                 gpu_stage_limited(setup) ? "limited" : "full");

    r = r < 0 ? r : difference_gpu_init(&state->difference, stage, setup, error);
    state->parameters.level = automatic ? 0 : (uint32_t)setup->steps[0].options.threshold;
    state->parameters.plane_stride = state->difference.gray[0].stride;
    return r;
}

static void forget(struct gpu_stage *stage)
{
    struct difference_stage *state = stage->state;

    difference_gpu_forget(&state->difference);
}

static int launch(struct gpu_stage *stage, const struct gpu_pictures *pictures,
                  struct gpu_chain *chain, struct error *error)
{
    struct difference_stage *state = stage->state;
    struct point_cuda *parameters = &state->parameters;

    difference_gpu_next(&state->difference, &parameters->current, &parameters->beside);
    gpu_job_set(&parameters->job, &pictures->input, &pictures->output);
    return gpu_chain_add(chain, &stage->kernels[0], &parameters->job, sizeof *parameters, error);
}

const struct gpu_stage_ops difference_gpu_ops = {.name = "difference",
                                                 .state_size = sizeof(struct difference_stage),
                                                 .takes = takes,
                                                 .init = init,
                                                 .forget = forget,
                                                 .launch = launch};
