// The camera view on the GPU: convert.cu with its name and its tile.
#include "kernels/convert_cuda.h"
#include "kernels/gpu_stage.h"

#include <ctype.h>
#include <stdio.h>

static int init(struct gpu_stage *stage, struct gpu *gpu, const struct stage_setup *setup,
                bool mapped, struct error *error)
{
    char name[64];
    int r = convert_check(setup, error);

    (void)mapped; // no row is read twice
    snprintf(name, sizeof name, "convert_%s_%s", setup->input->format->name, setup->output->name);
    for (char *c = name; *c; c++) {
        *c = (char)tolower(*c);
    }
    return r < 0 ? r
                 : gpu_kernel_init(&stage->kernel, gpu, stage->ops->key, name,
                                   (struct gpu_tile){TILE_CUDA_PIXELS, CONVERT_CUDA_ROWS}, error);
}

static int launch(struct gpu_stage *stage, const struct gpu_picture *input,
                  const struct gpu_picture *output, struct error *error)
{
    struct convert_cuda parameters = {.width = input->width, .height = input->height};

    for (unsigned i = 0; i < 3; i++) {
        parameters.input[i] = input->planes[i].address;
        parameters.input_stride[i] = input->planes[i].stride;
    }
    for (unsigned i = 0; i < 2; i++) {
        parameters.output[i] = output->planes[i].address;
        parameters.output_stride[i] = output->planes[i].stride;
    }
    return gpu_kernel_launch(&stage->kernel, &parameters, input->width, input->height, error);
}

const struct gpu_stage_ops convert_gpu_ops = {.key = "convert", .init = init, .launch = launch};
