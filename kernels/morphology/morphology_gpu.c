// Erosion and dilation of black and white on the GPU: morphology.cu with its name and its tile.
#include "kernels/morphology/morphology_cuda.h"
#include "kernels/stage/gpu_stage.h"

static unsigned takes(const struct gpu_stage_setup *setup)
{
    unsigned erodes = gpu_stage_match(setup, STAGE_ERODE);
    unsigned dilates = gpu_stage_match(setup, STAGE_DILATE);

    return setup->first || setup->steps[0].options.shades ? 0 : erodes + dilates;
}

static int init(struct gpu_stage *stage, const struct gpu_stage_setup *setup, struct error *error)
{
    unsigned times = (unsigned)setup->steps[0].options.times;
    struct gpu_tile tile = {JOB_PIXELS, MORPHOLOGY_CUDA_ROWS(times)};
    struct morphology_cuda *parameters = stage->state;

    parameters->erodes = setup->steps[0].kind == STAGE_ERODE ? UINT32_MAX : 0;
    parameters->white = gpu_stage_shade(setup, 255);
    parameters->black = gpu_stage_shade(setup, 0);
    return gpu_stage_add_kernel(stage, CONFIG_KERNEL_MORPHOLOGY, tile, error, "morphology_%u",
                                times);
}

const struct gpu_stage_ops morphology_gpu_ops = {.name = "morphology",
                                                 .state_size = sizeof(struct morphology_cuda),
                                                 .takes = takes,
                                                 .init = init,
                                                 .launch = gpu_stage_launch};
