// A view's mask on the GPU: point.cu with its name and the mask, copied there once.
#include "kernels/gpu/point_cuda.h"
#include "kernels/mask/mask_plane.h"
#include "kernels/stage/gpu_stage.h"

#include <string.h>

static unsigned takes(const struct gpu_stage_setup *setup)
{
    bool planar = strcmp(gpu_stage_layout(setup), "planar") == 0;

    return planar && setup->steps[0].kind == STAGE_MASK ? gpu_stage_match(setup, STAGE_MASK) : 0;
}

static int init(struct gpu_stage *stage, const struct gpu_stage_setup *setup, struct error *error)
{
    const struct mask_plane *mask = setup->steps[0].options.mask;
    struct point_cuda *parameters = stage->state;
    int r =
        gpu_stage_add_kernel(stage, CONFIG_KERNEL_MASK, (struct gpu_tile){JOB_PIXELS, JOB_ROWS},
                             error, "point_mask_%s", gpu_stage_limited(setup) ? "limited" : "full");

    parameters->plane_stride = (uint32_t)mask->stride;
    return r < 0 ? r
                 : gpu_stage_add_memory(stage, mask->bytes, mask->stride * mask->height, "a mask",
                                        error, &parameters->beside);
}

const struct gpu_stage_ops mask_gpu_ops = {.name = "mask",
                                           .state_size = sizeof(struct point_cuda),
                                           .takes = takes,
                                           .init = init,
                                           .launch = gpu_stage_launch};
