// The overlay view on the GPU: overlay.cu with its name, its tile and its colour; with the edges of
// Sobel at a fixed threshold in the same launch, else behind the mask that others make.
#include "kernels/convert/colour.h"
#include "kernels/convert/convert.h"
#include "kernels/gradient/gradient.h"
#include "kernels/overlay/overlay_cuda.h"
#include "kernels/stage/gpu_stage.h"
#include "kernels/stage/stage.h"

// [GRAY] GRADIENT THRESHOLD OVERLAY, all there is.
static bool is_whole(const struct gpu_stage_setup *setup)
{
    unsigned at = setup->steps[0].kind == STAGE_GRAY;
    const struct plan_step *steps = setup->steps + at;

    return setup->first && setup->count == at + 3 && steps[0].kind == STAGE_GRADIENT &&
           steps[0]
               .options.
               operator== CONFIG_OPERATOR_SOBEL && steps[1]
               .kind == STAGE_THRESHOLD && steps[1]
               .options.threshold != CONFIG_THRESHOLD_OTSU && steps[2]
               .kind == STAGE_OVERLAY;
}

static unsigned takes(const struct gpu_stage_setup *setup)
{
    if (is_whole(setup)) {
        return setup->count;
    }
    return !setup->first && setup->steps[0].kind == STAGE_OVERLAY;
}

static void set_colour(struct overlay_cuda *parameters, const uint8_t rgb[3],
                       const struct frame_layout *camera)
{
    struct colour_space space = colour_space_of_camera(camera);
    struct colour_yuv yuv = colour_to_yuv(&space, rgb);

    parameters->luma = yuv.y * 0x01010101U;
    parameters->chroma = (yuv.u | (uint32_t)yuv.v << 8) * 0x00010001U;
    parameters->rgb = rgb[0] | (uint32_t)rgb[1] << 8 | (uint32_t)rgb[2] << 16;
}

static void set_edges(struct overlay_cuda *parameters, const struct plan_step *gradient)
{
    uint32_t thresholds[256];

    gradient_thresholds(gradient->options.norm, gradient->options.gain, thresholds);
    parameters->least = thresholds[gradient[1].options.threshold];
    parameters->l1 = gradient->options.norm == CONFIG_NORM_L1;
}

static int init(struct gpu_stage *stage, const struct gpu_stage_setup *setup, struct error *error)
{
    const struct stage_setup conversion = {.input = setup->camera, .output = setup->output};
    struct overlay_cuda *parameters = stage->state;
    bool whole = setup->count > 1;
    int r = convert_check(&conversion, error);

    if (r < 0) {
        return r;
    }
    set_colour(parameters, setup->steps[setup->count - 1].options.colour, setup->camera);
    if (whole) {
        set_edges(parameters, &setup->steps[setup->steps[0].kind == STAGE_GRAY]);
    }
    return gpu_stage_add_kernel(stage, CONFIG_KERNEL_OVERLAY,
                                (struct gpu_tile){JOB_PIXELS, JOB_ROWS_CHROMA}, error,
                                "overlay_%s_%s_%s", whole ? "sobel" : "mask",
                                setup->camera->format->name, setup->output->name);
}

static int launch(struct gpu_stage *stage, const struct gpu_pictures *pictures,
                  struct gpu_chain *chain, struct error *error)
{
    struct overlay_cuda *parameters = stage->state;

    gpu_job_set(&parameters->job, &pictures->camera, &pictures->output);
    parameters->mask = pictures->input.planes[0].address;
    parameters->mask_stride = pictures->input.planes[0].stride;
    return gpu_chain_add(chain, &stage->kernels[0], &parameters->job, sizeof *parameters, error);
}

const struct gpu_stage_ops overlay_gpu_ops = {.name = "overlay",
                                              .state_size = sizeof(struct overlay_cuda),
                                              .takes = takes,
                                              .init = init,
                                              .launch = launch};
