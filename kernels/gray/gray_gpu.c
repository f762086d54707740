// The gray view on the GPU: point.cu with its name.
#include "kernels/gpu/point_cuda.h"
#include "kernels/stage/gpu_stage.h"

static unsigned takes(const struct gpu_stage_setup *setup)
{
    return setup->first ? gpu_stage_match(setup, STAGE_GRAY) : 0;
}

static int init(struct gpu_stage *stage, const struct gpu_stage_setup *setup, struct error *error)
{
    return gpu_stage_add_kernel(
        stage, CONFIG_KERNEL_GRAY, (struct gpu_tile){JOB_PIXELS, JOB_ROWS_CHROMA}, error,
        "point_gray_%s_%s", gpu_stage_layout(setup), gpu_stage_limited(setup) ? "limited" : "full");
}

const struct gpu_stage_ops gray_gpu_ops = {.name = "gray",
                                           .state_size = sizeof(struct point_cuda),
                                           .takes = takes,
                                           .init = init,
                                           .launch = gpu_stage_launch};
