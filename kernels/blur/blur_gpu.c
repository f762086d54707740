// Smoother gray on the GPU: blur.cu with its name and its tile.
#include "kernels/stage/gpu_stage.h"

static unsigned takes(const struct gpu_stage_setup *setup)
{
    return setup->count > 0 && setup->steps[0].kind == STAGE_BLUR;
}

static int init(struct gpu_stage *stage, const struct gpu_stage_setup *setup, struct error *error)
{
    struct gpu_tile tile = {JOB_PIXELS, setup->mapped && setup->first ? JOB_ROWS_MAPPED : JOB_ROWS};

    return gpu_stage_add_kernel(stage, CONFIG_KERNEL_BLUR, tile, error, "blur_%d",
                                setup->steps[0].options.blur == 5 ? 5 : 3);
}

const struct gpu_stage_ops blur_gpu_ops = {.name = "blur",
                                           .state_size = sizeof(struct gpu_job),
                                           .takes = takes,
                                           .init = init,
                                           .launch = gpu_stage_launch};
