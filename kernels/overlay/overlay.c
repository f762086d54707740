// Row stage, the last of its view: a mask's rows to the rows of the camera's picture with the mask
// in a colour. A mask is 0 or 255 at every pixel; the view's are edges at least as strong as its
// threshold.
//
// - To RGB3: the picture as convert.h has it, GREY as R = G = B; where the mask is set, the colour.
// - To NV12: the picture as convert.h has it; where the mask is set, the colour's Y; where it is
//   set at the top left pixel of two by two, their U and V are the colour's. Y, U and V are those
//   of colour.h by matrix and range of the picture, BT.601 limited if it is RGB. So of RGB it is
//   what convert.h makes of the picture with the colour painted in.
// Everything else is the camera view's, bit for bit.
#include "kernels/convert/colour.h"
#include "kernels/convert/convert.h"
#include "kernels/gradient/gradient.h"
#include "kernels/overlay/overlay_cuda.h"
#include "kernels/overlay/paint.h"
#include "kernels/stage/gpu_stage.h"
#include "kernels/stage/simd.h"
#include "kernels/stage/stage.h"

#include <string.h>

struct overlay {
    struct paint paint;
    uint8_t rgb[3];
    struct colour_yuv yuv;
};

SIMD_INLINE uint8_t choose(uint8_t mask, uint8_t set, uint8_t clear)
{
    return (uint8_t)((mask & set) | (~mask & clear));
}

SIMD_CLONES
static void paint_luma(const uint8_t *restrict mask, uint8_t y, size_t width,
                       uint8_t *restrict luma)
{
    for (size_t x = 0; x < width; x++)
        luma[x] = choose(mask[x], y, luma[x]);
}

SIMD_CLONES
static void paint_pairs(const uint8_t *restrict mask, uint8_t u, uint8_t v, size_t pairs,
                        uint8_t *restrict chroma)
{
    for (size_t x = 0; x < pairs; x++) {
        chroma[2 * x] = choose(mask[2 * x], u, chroma[2 * x]);
        chroma[2 * x + 1] = choose(mask[2 * x], v, chroma[2 * x + 1]);
    }
}

SIMD_CLONES
static void paint_rgb3(const uint8_t *restrict mask, const uint8_t *restrict rgb, size_t width,
                       uint8_t *restrict row)
{
    uint8_t red = rgb[0], green = rgb[1], blue = rgb[2];

    for (size_t x = 0; x < width; x++) {
        row[3 * x] = choose(mask[x], red, row[3 * x]);
        row[3 * x + 1] = choose(mask[x], green, row[3 * x + 1]);
        row[3 * x + 2] = choose(mask[x], blue, row[3 * x + 2]);
    }
}

static enum stage_result run_row(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                                 uint32_t width, void *scratch, uint8_t *output)
{
    const struct overlay *overlay = stage->state;
    const struct paint *paint = &overlay->paint;
    uint8_t *row = paint_row(paint, y);
    uint8_t *chroma = paint->convert.chroma && y % 2 == 0 ? paint_chroma(paint, y, NULL) : NULL;

    (void)scratch;
    (void)output; // a row of the frame that begin() was given
    if (rows[0] == stage_black_row)
        return STAGE_WRITTEN;
    if (!paint->convert.chroma) {
        paint_rgb3(rows[0], overlay->rgb, width, row);
        return STAGE_WRITTEN;
    }
    paint_luma(rows[0], overlay->yuv.y, width, row);
    if (chroma)
        paint_pairs(rows[0], overlay->yuv.u, overlay->yuv.v, ((size_t)width + 1) / 2, chroma);
    return STAGE_WRITTEN;
}

static int init(struct stage *stage, const struct stage_setup *setup, struct error *error)
{
    struct overlay *overlay = stage->state;
    struct colour_space space = colour_space_of_camera(setup->input);

    memcpy(overlay->rgb, setup->options->colour, sizeof overlay->rgb);
    overlay->yuv = colour_to_yuv(&space, overlay->rgb);
    stage->run_row = run_row;
    return convert_init(&overlay->paint.convert, setup, error);
}

static void begin(struct stage *stage, const struct frame *input, struct frame *output)
{
    struct overlay *overlay = stage->state;

    overlay->paint.input = input;
    overlay->paint.output = output;
}

const struct stage_ops overlay_ops = {
    .state_bytes = sizeof(struct overlay), .init = init, .begin = begin};

// The overlay view on the GPU: overlay.cu with its name, its tile and its colour; with the edges of
// Sobel at a fixed threshold in the same launch, else behind the mask that others make.

// [GRAY] GRADIENT THRESHOLD OVERLAY, all there is.
static bool is_whole(const struct gpu_stage_setup *setup)
{
    unsigned at = setup->steps[0].kind == STAGE_GRAY;
    const struct plan_step *steps = setup->steps + at;

    return setup->first && setup->count == at + 3 && steps[0].kind == STAGE_GRADIENT &&
           steps[0].options.op == CONFIG_OPERATOR_SOBEL && steps[1].kind == STAGE_THRESHOLD &&
           steps[1].options.threshold != CONFIG_THRESHOLD_OTSU && steps[2].kind == STAGE_OVERLAY;
}

static unsigned fuses(const struct gpu_stage_setup *setup)
{
    if (is_whole(setup))
        return setup->count;
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

static int init_gpu(struct gpu_stage *stage, const struct gpu_stage_setup *setup,
                    struct error *error)
{
    const struct stage_setup conversion = {.input = setup->camera, .output = setup->output};
    struct overlay_cuda *parameters = stage->state;
    bool whole = setup->count > 1;
    int r = convert_check(&conversion, error);

    if (r < 0)
        return r;
    set_colour(parameters, setup->steps[setup->count - 1].options.colour, setup->camera);
    if (whole)
        set_edges(parameters, &setup->steps[setup->steps[0].kind == STAGE_GRAY]);
    return gpu_stage_add_kernel(stage, CONFIG_KERNEL_OVERLAY,
                                (struct gpu_tile){JOB_PIXELS, JOB_ROWS_CHROMA}, error,
                                "overlay_%s_%s_%s", whole ? "sobel" : "mask",
                                setup->camera->format->name, setup->output->name);
}

static int launch_gpu(struct gpu_stage *stage, const struct gpu_pictures *pictures,
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
                                              .fuses = fuses,
                                              .init = init_gpu,
                                              .launch = launch_gpu};
