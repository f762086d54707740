// A mask into the red channel on the GPU: the camera's picture by convert.cu, or copied by gray.cu
// where it has the output's format, then mark.cu.
#include "kernels/mark_gpu.h"

#include "kernels/convert_cuda.h"
#include "kernels/gray_cuda.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct mark_cuda constants(const struct mark_space *space)
{
    return (struct mark_cuda){
        .black = space->black,
        .luma = space->luma,
        .u_green = space->u_green,
        .v_green = space->v_green,
        .u_blue = space->u_blue,
        .y_constant = space->y.constant,
        .y_green = space->y.green,
        .y_blue = space->y.blue,
        .u_constant = space->u.constant,
        .u_green_out = space->u.green,
        .u_blue_out = space->u.blue,
        .v_constant = space->v.constant,
        .v_green_out = space->v.green,
        .v_blue_out = space->v.blue,
    };
}

static int add_picture(struct mark_gpu *mark, struct gpu_stage *stage,
                       const struct gpu_stage_setup *setup, struct error *error)
{
    const struct pixel_format *input = setup->camera->format;
    char name[64];

    mark->picture = stage->kernel_count;
    mark->copies = strcmp(input->name, setup->output->name) == 0;
    if (mark->copies) {
        return gpu_stage_add_kernel(stage, CONFIG_KERNEL_GRAY, "gray_planar_full",
                                    (struct gpu_tile){TILE_CUDA_PIXELS, GRAY_CUDA_ROWS}, error);
    }
    snprintf(name, sizeof name, "convert_%s_%s", input->name, setup->output->name);
    for (char *c = name; *c; c++) {
        *c = (char)tolower(*c);
    }
    return gpu_stage_add_kernel(stage, CONFIG_KERNEL_CONVERT, name,
                                (struct gpu_tile){TILE_CUDA_PIXELS, CONVERT_CUDA_ROWS}, error);
}

int mark_gpu_init(struct mark_gpu *mark, struct gpu_stage *stage,
                  const struct gpu_stage_setup *setup, bool bits, struct error *error)
{
    const struct pixel_format *input = setup->camera->format;
    const struct stage_setup conversion = {.input = setup->camera, .output = setup->output};
    bool rgb = input->luma_step == 0;
    char name[64];
    int r = convert_init(&(struct convert){0}, &conversion, error);

    if (r == 0) {
        r = add_picture(mark, stage, setup, error);
    }
    if (r < 0) {
        return r;
    }
    mark->parameters = constants(
        !rgb && setup->camera->range == FRAME_RANGE_FULL ? &mark_space_full : &mark_space_limited);
    mark->parameters.input_step = input->planes[0].bytes;
    mark->parameters.blue_first = strcmp(input->name, "RGB3") != 0;
    mark->paint = stage->kernel_count;
    snprintf(name, sizeof name, "mark_%s_%s",
             setup->output->luma_step == 0 ? "rgb3" : (rgb ? "rgb" : "yuv"),
             bits ? "bits" : "bytes");
    return gpu_stage_add_kernel(stage, CONFIG_KERNEL_MARK, name,
                                (struct gpu_tile){TILE_CUDA_PIXELS, MARK_CUDA_ROWS}, error);
}

// Plane `plane` of the camera's picture as it is, its bytes taken for pixels.
static int copy_plane(const struct mark_gpu *mark, struct gpu_stage *stage,
                      const struct gpu_pictures *pictures, unsigned plane, struct gpu_chain *chain,
                      struct error *error)
{
    const struct gpu_picture *input = &pictures->camera, *output = &pictures->output;
    bool chroma = plane == 1, rgb = mark->parameters.input_step == 3;
    struct gray_cuda parameters = {
        .input = input->planes[plane].address,
        .output = output->planes[plane].address,
        .input_stride = input->planes[plane].stride,
        .output_stride = output->planes[plane].stride,
        .width = chroma ? (input->width + 1) / 2 * 2
                 : rgb  ? 3 * input->width
                        : input->width,
        .height = chroma ? (input->height + 1) / 2 : input->height,
    };

    return gpu_chain_add(chain, &stage->kernels[mark->picture], &parameters, sizeof parameters,
                         NULL, parameters.width, parameters.height, error);
}

static int convert(const struct mark_gpu *mark, struct gpu_stage *stage,
                   const struct gpu_pictures *pictures, struct gpu_chain *chain,
                   struct error *error)
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
    return gpu_chain_add(chain, &stage->kernels[mark->picture], &parameters, sizeof parameters,
                         NULL, input->width, input->height, error);
}

static int make_picture(const struct mark_gpu *mark, struct gpu_stage *stage,
                        const struct gpu_pictures *pictures, bool luma_done,
                        struct gpu_chain *chain, struct error *error)
{
    int r = 0;

    if (!mark->copies) {
        return convert(mark, stage, pictures, chain, error);
    }
    if (!luma_done) {
        r = copy_plane(mark, stage, pictures, 0, chain, error);
    }
    if (r == 0 && pictures->output.planes[1].address) {
        r = copy_plane(mark, stage, pictures, 1, chain, error);
    }
    return r;
}

int mark_gpu_launch(const struct mark_gpu *mark, struct gpu_stage *stage,
                    const struct gpu_pictures *pictures, const struct mark_gpu_mask *mask,
                    struct gpu_chain *chain, struct error *error)
{
    const struct gpu_picture *input = &pictures->camera, *output = &pictures->output;
    struct mark_cuda parameters = mark->parameters;
    int r = make_picture(mark, stage, pictures, mask->luma_done, chain, error);

    if (r < 0) {
        return r;
    }
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
    return gpu_chain_add(chain, &stage->kernels[mark->paint], &parameters, sizeof parameters, NULL,
                         input->width, input->height, error);
}

static unsigned takes(const struct gpu_stage_setup *setup)
{
    return !setup->first && setup->count == 1 && setup->steps[0].kind == STAGE_MARK;
}

static int init(struct gpu_stage *stage, const struct gpu_stage_setup *setup, struct error *error)
{
    stage->state = calloc(1, sizeof(struct mark_gpu));
    return stage->state ? mark_gpu_init(stage->state, stage, setup, false, error)
                        : error_set(error, -ENOMEM, "no memory for marks on the GPU");
}

static void finish(struct gpu_stage *stage)
{
    free(stage->state);
}

static int launch(struct gpu_stage *stage, const struct gpu_pictures *pictures,
                  struct gpu_chain *chain, struct error *error)
{
    const struct mark_gpu_mask mask = {.address = pictures->input.planes[0].address,
                                       .stride = pictures->input.planes[0].stride};

    return mark_gpu_launch(stage->state, stage, pictures, &mask, chain, error);
}

const struct gpu_stage_ops mark_gpu_ops = {
    .name = "mark", .takes = takes, .init = init, .finish = finish, .launch = launch};
