// A mask of bytes marked on the GPU: the camera's picture by convert.cu, or copied by
// gray.cu where it has the output's format already, then mark.cu.
#include "kernels/overlay/mark_gpu.h"

#include "kernels/convert/convert.h"
#include "kernels/convert/convert_gpu.h"
#include "kernels/gray/gray_cuda.h"
#include "kernels/overlay/mark.h"
#include "kernels/stage/stage.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct mark_cuda_space mark_gpu_space(const struct frame_layout *camera, enum config_mark mark)
{
    const struct mark_space space = mark_space_of(camera);

    return (struct mark_cuda_space){
        .black = space.black,
        .luma = space.luma,
        .u_green = space.u_green,
        .v_green = space.v_green,
        .u_blue = space.u_blue,
        .y_constant = space.y.constant,
        .y_green = space.y.green,
        .y_blue = space.y.blue,
        .u_constant = space.u.constant,
        .u_green_out = space.u.green,
        .u_blue_out = space.u.blue,
        .v_constant = space.v.constant,
        .v_green_out = space.v.green,
        .v_blue_out = space.v.blue,
        .shift = mark_shift(mark),
    };
}

int mark_gpu_init(struct mark_gpu *mark, struct gpu_stage *stage,
                  const struct gpu_stage_setup *setup, bool bits, struct error *error)
{
    const struct pixel_format *input = setup->camera->format;
    bool rgb = input->luma_step == 0;
    char name[64];

    mark->parameters.space =
        mark_gpu_space(setup->camera, setup->steps[setup->count - 1].options.mark);
    mark->parameters.input_step = input->planes[0].bytes;
    mark->parameters.blue_first = strcmp(input->name, "RGB3") != 0;
    mark->kernel = stage->kernel_count;
    snprintf(name, sizeof name, "mark_%s_%s",
             setup->output->luma_step == 0 ? "rgb3" : (rgb ? "rgb" : "yuv"),
             bits ? "bits" : "bytes");
    return gpu_stage_add_kernel(stage, CONFIG_KERNEL_MARK, name,
                                (struct gpu_tile){TILE_CUDA_PIXELS, MARK_CUDA_ROWS}, error);
}

int mark_gpu_launch(const struct mark_gpu *mark, struct gpu_stage *stage,
                    const struct gpu_pictures *pictures, const struct mark_gpu_mask *mask,
                    struct gpu_chain *chain, struct error *error)
{
    const struct gpu_picture *input = &pictures->camera, *output = &pictures->output;
    struct mark_cuda parameters = mark->parameters;

    parameters.mask = mask->address;
    parameters.mask_stride = mask->stride;
    parameters.erode = mask->erode;
    parameters.input = input->planes[0].address;
    parameters.input_stride = input->planes[0].stride;
    for (unsigned i = 0; i < 2; i++) {
        parameters.output[i] = output->planes[i].address;
        parameters.output_stride[i] = output->planes[i].stride;
    }
    parameters.width = input->width;
    parameters.height = input->height;
    return gpu_chain_add(chain, &stage->kernels[mark->kernel], &parameters, sizeof parameters, NULL,
                         input->width, input->height, error);
}

// The stage: kernel 0 makes the picture.
struct mark_stage {
    bool copies; // the picture is the camera's as it is
    struct mark_gpu mark;
};

static unsigned takes(const struct gpu_stage_setup *setup)
{
    return !setup->first && setup->count == 1 && setup->steps[0].kind == STAGE_MARK;
}

static int init(struct gpu_stage *stage, const struct gpu_stage_setup *setup, struct error *error)
{
    const struct pixel_format *input = setup->camera->format;
    const struct stage_setup conversion = {.input = setup->camera, .output = setup->output};
    struct mark_stage *state = calloc(1, sizeof *state);
    int r;

    if (!state) {
        return error_set(error, -ENOMEM, "no memory for marks on the GPU");
    }
    stage->state = state;
    state->copies = strcmp(input->name, setup->output->name) == 0;
    r = convert_check(&conversion, error);
    if (r == 0) {
        r = state->copies
                ? gpu_stage_add_kernel(stage, CONFIG_KERNEL_GRAY, "gray_planar_full",
                                       (struct gpu_tile){TILE_CUDA_PIXELS, GRAY_CUDA_ROWS}, error)
                : convert_gpu_add_kernel(stage, input, setup->output, error);
    }
    return r < 0 ? r : mark_gpu_init(&state->mark, stage, setup, false, error);
}

static void finish(struct gpu_stage *stage)
{
    free(stage->state);
}

// Plane `plane` of the camera's picture, its bytes taken for pixels.
static int copy_plane(struct gpu_stage *stage, const struct gpu_pictures *pictures, unsigned plane,
                      struct gpu_chain *chain, struct error *error)
{
    const struct gpu_picture *input = &pictures->camera, *output = &pictures->output;
    bool nv12 = output->planes[1].address != 0;
    struct gray_cuda parameters = {
        .input = input->planes[plane].address,
        .output = output->planes[plane].address,
        .input_stride = input->planes[plane].stride,
        .output_stride = output->planes[plane].stride,
        .width = plane == 1 ? (input->width + 1) / 2 * 2 : (nv12 ? 1 : 3) * input->width,
        .height = plane == 1 ? (input->height + 1) / 2 : input->height,
    };

    return gpu_chain_add(chain, &stage->kernels[0], &parameters, sizeof parameters, NULL,
                         parameters.width, parameters.height, error);
}

static int make_picture(struct gpu_stage *stage, const struct gpu_pictures *pictures,
                        struct gpu_chain *chain, struct error *error)
{
    const struct mark_stage *state = stage->state;
    struct convert_cuda parameters = convert_gpu_parameters(&pictures->camera, &pictures->output);
    int r;

    if (!state->copies) {
        return gpu_chain_add(chain, &stage->kernels[0], &parameters, sizeof parameters, NULL,
                             parameters.width, parameters.height, error);
    }
    r = copy_plane(stage, pictures, 0, chain, error);
    return r < 0 || !pictures->output.planes[1].address
               ? r
               : copy_plane(stage, pictures, 1, chain, error);
}

static int launch(struct gpu_stage *stage, const struct gpu_pictures *pictures,
                  struct gpu_chain *chain, struct error *error)
{
    const struct mark_stage *state = stage->state;
    const struct mark_gpu_mask mask = {.address = pictures->input.planes[0].address,
                                       .stride = pictures->input.planes[0].stride};
    int r = make_picture(stage, pictures, chain, error);

    return r < 0 ? r : mark_gpu_launch(&state->mark, stage, pictures, &mask, chain, error);
}

const struct gpu_stage_ops mark_gpu_ops = {
    .name = "mark", .takes = takes, .init = init, .finish = finish, .launch = launch};
