// The gray view on the GPU: gray.cu with its name and its tile.
#include "kernels/gray/gray_cuda.h"
#include "kernels/stage/gpu_stage.h"

#include <stdio.h>

static unsigned takes(const struct gpu_stage_setup *setup)
{
    return setup->first ? gpu_stage_match(setup, STAGE_GRAY) : 0;
}

static int init(struct gpu_stage *stage, const struct gpu_stage_setup *setup, struct error *error)
{
    char name[64];

    snprintf(name, sizeof name, "gray_%s_%s", gpu_stage_layout(setup),
             gpu_stage_limited(setup) ? "limited" : "full");
    return gpu_stage_add_kernel(stage, CONFIG_KERNEL_GRAY, name,
                                (struct gpu_tile){TILE_CUDA_PIXELS, GRAY_CUDA_ROWS}, error);
}

static int launch(struct gpu_stage *stage, const struct gpu_pictures *pictures,
                  struct gpu_chain *chain, struct error *error)
{
    const struct gpu_picture *input = &pictures->input, *output = &pictures->output;
    struct gray_cuda parameters = {
        .input = input->planes[0].address,
        .output = output->planes[0].address,
        .input_stride = input->planes[0].stride,
        .output_stride = output->planes[0].stride,
        .width = input->width,
        .height = input->height,
    };

    return gpu_chain_add(chain, &stage->kernels[0], &parameters, sizeof parameters, NULL,
                         input->width, input->height, error);
}

const struct gpu_stage_ops gray_gpu_ops = {
    .name = "gray", .takes = takes, .init = init, .launch = launch};
