// A mask of bytes marked on the GPU: the camera's picture by convert.cu, or copied by
// point.cu where it has the output's format already, then mark.cu.
#include "kernels/overlay/mark_gpu.h"

#include "kernels/convert/convert.h"
#include "kernels/convert/convert_gpu.h"
#include "kernels/gpu/point_cuda.h"
#include "kernels/overlay/mark.h"
#include "kernels/stage/stage.h"

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

    mark->parameters.space =
        mark_gpu_space(setup->camera, setup->steps[setup->count - 1].options.mark);
    mark->parameters.input_step = input->planes[0].bytes;
    mark->parameters.blue_first = strcmp(input->name, "RGB3") != 0;
    mark->kernel = stage->kernel_count;
    return gpu_stage_add_kernel(stage, CONFIG_KERNEL_MARK,
                                (struct gpu_tile){JOB_PIXELS, JOB_ROWS_CHROMA}, error, "mark_%s_%s",
                                setup->output->luma_step == 0 ? "rgb3" : (rgb ? "rgb" : "yuv"),
                                bits ? "bits" : "bytes");
}

int mark_gpu_launch(struct mark_gpu *mark, struct gpu_stage *stage,
                    const struct gpu_pictures *pictures, const struct mark_gpu_mask *mask,
                    struct gpu_chain *chain, struct error *error)
{
    struct mark_cuda *parameters = &mark->parameters;

    gpu_job_set(&parameters->job, &pictures->camera, &pictures->output);
    parameters->mask = mask->address;
    parameters->mask_stride = mask->stride;
    parameters->erode = mask->erode;
    return gpu_chain_add(chain, &stage->kernels[mark->kernel], &parameters->job, sizeof *parameters,
                         error);
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
    struct mark_stage *state = stage->state;
    int r = convert_check(&conversion, error);

    state->copies = strcmp(input->name, setup->output->name) == 0;
    if (r == 0) {
        r = state->copies ? gpu_stage_add_kernel(stage, CONFIG_KERNEL_GRAY,
                                                 (struct gpu_tile){JOB_PIXELS, JOB_ROWS_CHROMA},
                                                 error, "point_gray_planar_full")
                          : convert_gpu_add_kernel(stage, input, setup->output, error);
    }
    return r < 0 ? r : mark_gpu_init(&state->mark, stage, setup, false, error);
}

// Plane `plane` of the camera's picture, its bytes taken for pixels.
static int copy_plane(struct gpu_stage *stage, const struct gpu_pictures *pictures, unsigned plane,
                      struct gpu_chain *chain, struct error *error)
{
    const struct gpu_picture *camera = &pictures->camera;
    bool nv12 = pictures->output.planes[1].address != 0;
    const struct gpu_picture input = {
        .planes[0] = camera->planes[plane],
        .width = plane == 1 ? (camera->width + 1) / 2 * 2 : (nv12 ? 1 : 3) * camera->width,
        .height = plane == 1 ? (camera->height + 1) / 2 : camera->height};
    const struct gpu_picture output = {.planes[0] = pictures->output.planes[plane]};
    struct point_cuda parameters = {0};

    gpu_job_set(&parameters.job, &input, &output);
    return gpu_chain_add(chain, &stage->kernels[0], &parameters.job, sizeof parameters, error);
}

static int make_picture(struct gpu_stage *stage, const struct gpu_pictures *pictures,
                        struct gpu_chain *chain, struct error *error)
{
    const struct mark_stage *state = stage->state;
    struct convert_cuda parameters = {0};
    int r;

    if (!state->copies) {
        gpu_job_set(&parameters.job, &pictures->camera, &pictures->output);
        return gpu_chain_add(chain, &stage->kernels[0], &parameters.job, sizeof parameters, error);
    }
    r = copy_plane(stage, pictures, 0, chain, error);
    return r < 0 || !pictures->output.planes[1].address
               ? r
               : copy_plane(stage, pictures, 1, chain, error);
}

static int launch(struct gpu_stage *stage, const struct gpu_pictures *pictures,
                  struct gpu_chain *chain, struct error *error)
{
    struct mark_stage *state = stage->state;
    const struct mark_gpu_mask mask = {.address = pictures->input.planes[0].address,
                                       .stride = pictures->input.planes[0].stride};
    int r = make_picture(stage, pictures, chain, error);

    return r < 0 ? r : mark_gpu_launch(&state->mark, stage, pictures, &mask, chain, error);
}

const struct gpu_stage_ops mark_gpu_ops = {.name = "mark",
                                           .state_size = sizeof(struct mark_stage),
                                           .takes = takes,
                                           .init = init,
                                           .launch = launch};
