// The camera view on the GPU: convert.cu with its name and its tile.
#include "kernels/convert_cuda.h"
#include "kernels/gpu_stage.h"

#include <ctype.h>
#include <stdio.h>

static unsigned takes(const struct gpu_stage_setup *setup)
{
    return setup->first && setup->steps[0].kind == STAGE_CONVERT;
}

static int init(struct gpu_stage *stage, const struct gpu_stage_setup *setup, struct error *error)
{
    const struct stage_setup conversion = {.input = setup->camera, .output = setup->output};
    char name[64];
    int r = convert_check(&conversion, error);

    snprintf(name, sizeof name, "convert_%s_%s", setup->camera->format->name, setup->output->name);
    for (char *c = name; *c; c++) {
        *c = (char)tolower(*c);
    }
    return r < 0 ? r
                 : gpu_stage_add_kernel(stage, CONFIG_KERNEL_CONVERT, name,
                                        (struct gpu_tile){TILE_CUDA_PIXELS, CONVERT_CUDA_ROWS},
                                        error);
}

static int launch(struct gpu_stage *stage, const struct gpu_pictures *pictures,
                  struct gpu_chain *chain, struct error *error)
{
    const struct gpu_picture *input = &pictures->camera, *output = &pictures->output;
    struct convert_cuda parameters = {.width = input->width, .height = input->height};

    for (unsigned i = 0; i < 3; i++) {
        parameters.input[i] = input->planes[i].address;
        parameters.input_stride[i] = input->planes[i].stride;
    }
    for (unsigned i = 0; i < 2; i++) {
        parameters.output[i] = output->planes[i].address;
        parameters.output_stride[i] = output->planes[i].stride;
    }
    return gpu_chain_add(chain, &stage->kernels[0], &parameters, sizeof parameters, NULL,
                         input->width, input->height, error);
}

const struct gpu_stage_ops convert_gpu_ops = {
    .name = "convert", .takes = takes, .init = init, .launch = launch};
