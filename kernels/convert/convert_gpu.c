// The camera view on the GPU: convert.cu with its name and its tile.
#include "kernels/convert/convert_gpu.h"
#include "kernels/convert/colour.h"
#include "kernels/convert/convert.h"
#include "kernels/stage/stage.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static int add_kernel(struct gpu_stage *stage, const char *input, const char *output,
                      const char *range, struct error *error)
{
    char name[64];

    snprintf(name, sizeof name, "convert_%s_%s%s", input, output, range);
    for (char *c = name; *c; c++) {
        *c = (char)tolower(*c);
    }
    return gpu_stage_add_kernel(stage, CONFIG_KERNEL_CONVERT, name,
                                (struct gpu_tile){TILE_CUDA_PIXELS, CONVERT_CUDA_ROWS}, error);
}

int convert_gpu_add_kernel(struct gpu_stage *stage, const struct pixel_format *input,
                           const struct pixel_format *output, struct error *error)
{
    return add_kernel(stage, input->name, output->name, "", error);
}

int convert_gpu_add_side(struct gpu_stage *stage, const struct pixel_format *input,
                         const struct frame_layout *output, struct error *error)
{
    bool full = strcmp(input->name, "RGB3") == 0 && strcmp(output->format->name, "NV12") == 0;

    if (full) {
        struct colour_space *space = stage->state = malloc(sizeof *space);

        if (!space) {
            return error_set(error, -ENOMEM, "no memory for a conversion");
        }
        *space = colour_space_of(colour_matrix_number(output->colour.matrix), FRAME_RANGE_FULL);
    }
    return add_kernel(stage, input->name, output->format->name, full ? "_full" : "", error);
}

static void finish(struct gpu_stage *stage)
{
    free(stage->state);
}

struct convert_cuda convert_gpu_parameters(const struct gpu_picture *input,
                                           const struct gpu_picture *output)
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
    return parameters;
}

static unsigned takes(const struct gpu_stage_setup *setup)
{
    return setup->first && setup->steps[0].kind == STAGE_CONVERT;
}

static int init(struct gpu_stage *stage, const struct gpu_stage_setup *setup, struct error *error)
{
    const struct stage_setup conversion = {.input = setup->camera, .output = setup->output};
    int r = convert_check(&conversion, error);

    return r < 0 ? r : convert_gpu_add_kernel(stage, setup->camera->format, setup->output, error);
}

static int launch(struct gpu_stage *stage, const struct gpu_pictures *pictures,
                  struct gpu_chain *chain, struct error *error)
{
    struct convert_cuda parameters = convert_gpu_parameters(&pictures->camera, &pictures->output);
    const struct colour_space *space = stage->state;

    if (space) {
        memcpy(parameters.y, space->y, sizeof parameters.y);
        memcpy(parameters.u, space->u, sizeof parameters.u);
        memcpy(parameters.v, space->v, sizeof parameters.v);
    }
    return gpu_chain_add(chain, &stage->kernels[0], &parameters, sizeof parameters, NULL,
                         parameters.width, parameters.height, error);
}

const struct gpu_stage_ops convert_gpu_ops = {
    .name = "convert", .takes = takes, .init = init, .finish = finish, .launch = launch};
