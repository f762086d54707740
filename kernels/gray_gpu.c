// The gray view on the GPU: gray.cu with its name and its tile.
#include "kernels/gpu_stage.h"
#include "kernels/gray_cuda.h"

#include <stdio.h>

static int init(struct gpu_stage *stage, struct gpu *gpu, const struct stage_setup *setup,
                bool mapped, struct error *error)
{
    const struct pixel_format *input = setup->input->format;
    bool limited = input->luma_step == 0 && setup->output->plane_count > 1;
    char name[64];

    (void)mapped; // no row is read twice
    snprintf(name, sizeof name, "gray_%s_%s", gpu_luma_layout(input), limited ? "limited" : "full");
    return gpu_kernel_init(&stage->kernel, gpu, stage->ops->key, name,
                           (struct gpu_tile){TILE_CUDA_PIXELS, GRAY_CUDA_ROWS}, error);
}

static int launch(struct gpu_stage *stage, const struct gpu_picture *input,
                  const struct gpu_picture *output, struct error *error)
{
    struct gray_cuda parameters = {
        .input = input->planes[0].address,
        .output = output->planes[0].address,
        .input_stride = input->planes[0].stride,
        .output_stride = output->planes[0].stride,
        .width = input->width,
        .height = input->height,
    };

    return gpu_kernel_launch(&stage->kernel, &parameters, input->width, input->height, error);
}

const struct gpu_stage_ops gray_gpu_ops = {.key = "gray", .init = init, .launch = launch};
