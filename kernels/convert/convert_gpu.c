// The camera view on the GPU: convert.cu with its name and its tile.
#include "kernels/convert/convert_gpu.h"
#include "kernels/convert/colour.h"
#include "kernels/convert/convert.h"
#include "kernels/stage/stage.h"

#include <errno.h>
#include <string.h>

extern const struct gpu_stage_ops convert_gpu_ops;

static int add_kernel(struct gpu_stage *stage, const char *input, const char *output,
                      const char *range, struct error *error)
{
    return gpu_stage_add_kernel(stage, CONFIG_KERNEL_CONVERT,
                                (struct gpu_tile){JOB_PIXELS, JOB_ROWS_CHROMA}, error,
                                "convert_%s_%s%s", input, output, range);
}

int convert_gpu_add_kernel(struct gpu_stage *stage, const struct pixel_format *input,
                           const struct pixel_format *output, struct error *error)
{
    return add_kernel(stage, input->name, output->name, "", error);
}

int convert_gpu_init_side(struct gpu_stage *stage, struct gpu *gpu,
                          const struct pixel_format *input, const struct frame_layout *output,
                          struct error *error)
{
    bool full = strcmp(input->name, "RGB3") == 0 && strcmp(output->format->name, "NV12") == 0;
    struct colour_space space =
        colour_space_of(colour_matrix_number(output->colour.matrix), FRAME_RANGE_FULL);
    struct convert_cuda *parameters = calloc(1, sizeof *parameters);
    int r;

    *stage = (struct gpu_stage){.ops = &convert_gpu_ops, .gpu = gpu, .state = parameters};
    if (!parameters) {
        return error_set(error, -ENOMEM, "no memory for a conversion");
    }
    memcpy(parameters->y, space.y, sizeof parameters->y);
    memcpy(parameters->u, space.u, sizeof parameters->u);
    memcpy(parameters->v, space.v, sizeof parameters->v);
    r = add_kernel(stage, input->name, output->format->name, full ? "_full" : "", error);
    if (r == 0) {
        gpu_stage_join(stage);
    }
    return r;
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

const struct gpu_stage_ops convert_gpu_ops = {.name = "convert",
                                              .state_size = sizeof(struct convert_cuda),
                                              .takes = takes,
                                              .init = init,
                                              .launch = gpu_stage_launch};
