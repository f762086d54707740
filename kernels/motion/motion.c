// Motion with a fixed threshold on the GPU, for a stream. motion.cu makes the picture, finds what
// moves and marks it, in one launch. Of RGB cameras, or where more has to be eroded, it writes a
// bit a pixel instead, and mark.cu erodes and marks in a second launch.
#include "kernels/difference/difference.h"
#include "kernels/motion/motion_cuda.h"
#include "kernels/overlay/mark.h"

#include <string.h>

struct motion_stage {
    struct motion_cuda parameters; // with `bits` or, if `marked`, without
    struct difference_gpu difference;
    struct mark_gpu mark;
    bool marked; // by motion.cu, in the launch that finds what moves
};

// [GRAY] DIFFERENCE [ERODE] MARK, all there is.
static unsigned fuses(const struct gpu_stage_setup *setup)
{
    const struct plan_step *steps = setup->steps;
    unsigned at = steps[0].kind == STAGE_GRAY;

    if (!setup->first || strcmp(setup->output->name, "NV12") != 0 || at >= setup->count ||
        steps[at].kind != STAGE_DIFFERENCE ||
        steps[at].options.threshold == CONFIG_THRESHOLD_OTSU) {
        return 0;
    }
    at++;
    at += at < setup->count && steps[at].kind == STAGE_ERODE;
    return at + 1 == setup->count && steps[at].kind == STAGE_MARK ? setup->count : 0;
}

static int add_kernels(struct gpu_stage *stage, const struct gpu_stage_setup *setup,
                       struct error *error)
{
    const struct frame_layout *camera = setup->camera;
    struct motion_stage *state = stage->state;
    struct gpu_plane bits;
    int r = gpu_stage_add_kernel(
        stage, CONFIG_KERNEL_DIFFERENCE, (struct gpu_tile){JOB_PIXELS, JOB_ROWS_CHROMA}, error,
        "motion_%s%s", state->marked ? "marked_" : "", camera->format->name);

    if (r < 0 || state->marked)
        return r;
    r = mark_gpu_init(&state->mark, stage, setup, true, error);
    r = r < 0 ? r
              : gpu_stage_add_plane(stage, (camera->width + 7) / 8, camera->height, error, &bits);
    if (r == 0) {
        state->parameters.bits = bits.address;
        state->parameters.bits_stride = bits.stride;
    }
    return r;
}

static int init(struct gpu_stage *stage, const struct gpu_stage_setup *setup, struct error *error)
{
    const struct plan_step *difference = &setup->steps[setup->steps[0].kind == STAGE_GRAY];
    const struct plan_step *erode = difference + 1;
    struct motion_stage *state = stage->state;
    struct motion_cuda *parameters = &state->parameters;
    int r;

    parameters->threshold = (uint32_t)difference->options.threshold;
    parameters->erode = erode->kind == STAGE_ERODE ? (uint32_t)erode->options.times : 0;
    parameters->space = mark_space_of(setup->camera, setup->steps[setup->count - 1].options.mark);
    state->marked =
        setup->camera->format->luma_step != 0 && parameters->erode <= MOTION_CUDA_ERODE_MAX;
    r = add_kernels(stage, setup, error);
    r = r < 0 ? r : difference_gpu_init(&state->difference, stage, setup, error);
    parameters->plane_stride = state->difference.gray[0].stride;
    return r;
}

static void forget(struct gpu_stage *stage)
{
    struct motion_stage *state = stage->state;

    difference_gpu_forget(&state->difference);
}

static int launch(struct gpu_stage *stage, const struct gpu_pictures *pictures,
                  struct gpu_chain *chain, struct error *error)
{
    struct motion_stage *state = stage->state;
    struct motion_cuda *parameters = &state->parameters;
    const struct mark_gpu_mask mask = {parameters->bits, parameters->bits_stride,
                                       parameters->erode};
    int r;

    difference_gpu_next(&state->difference, &parameters->current, &parameters->previous);
    gpu_job_set(&parameters->job, &pictures->camera, &pictures->output);
    r = gpu_chain_add(chain, &stage->kernels[0], &parameters->job, sizeof *parameters, error);
    return r < 0 || state->marked
               ? r
               : mark_gpu_launch(&state->mark, stage, pictures, &mask, chain, error);
}

const struct gpu_stage_ops motion_gpu_ops = {.name = "motion",
                                             .state_size = sizeof(struct motion_stage),
                                             .fuses = fuses,
                                             .init = init,
                                             .forget = forget,
                                             .launch = launch};
