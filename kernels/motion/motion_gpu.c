// Motion with a fixed threshold on the GPU, for a stream. motion.cu makes the picture, finds what
// moves and marks it, in one launch. Of RGB cameras, or where more has to be eroded, it writes a
// bit a pixel instead, and mark.cu erodes and marks in a second launch.
#include "kernels/convert/convert_gpu.h"
#include "kernels/difference/difference_gpu.h"
#include "kernels/motion/motion_cuda.h"
#include "kernels/overlay/mark_gpu.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct motion_stage {
    struct difference_gpu difference;
    struct mark_gpu mark;
    struct gpu_plane bits; // owned; none if motion.cu marks
    struct mark_cuda_space space;
    uint32_t threshold, erode;
    bool marked; // by motion.cu, in the launch that finds what moves
};

// [GRAY] DIFFERENCE [ERODE] MARK, all there is.
static unsigned takes(const struct gpu_stage_setup *setup)
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
    struct motion_stage *state = stage->state;
    char name[64];
    int r;

    snprintf(name, sizeof name, "motion_%s%s", state->marked ? "marked_" : "",
             setup->camera->format->name);
    for (char *c = name; *c; c++) {
        *c = (char)tolower(*c);
    }
    r = gpu_stage_add_kernel(stage, CONFIG_KERNEL_DIFFERENCE, name,
                             (struct gpu_tile){TILE_CUDA_PIXELS, CONVERT_CUDA_ROWS}, error);
    return r < 0 || state->marked ? r : mark_gpu_init(&state->mark, stage, setup, true, error);
}

static int init(struct gpu_stage *stage, const struct gpu_stage_setup *setup, struct error *error)
{
    struct motion_stage *state = calloc(1, sizeof *state);
    const struct plan_step *difference = &setup->steps[setup->steps[0].kind == STAGE_GRAY];
    const struct plan_step *erode = difference + 1;
    int r;

    if (!state) {
        return error_set(error, -ENOMEM, "no memory for motion on the GPU");
    }
    stage->state = state;
    state->threshold = (uint32_t)difference->options.threshold;
    state->erode = erode->kind == STAGE_ERODE ? (uint32_t)erode->options.times : 0;
    state->space = mark_gpu_space(setup->camera, setup->steps[setup->count - 1].options.mark);
    state->marked = setup->camera->format->luma_step != 0 && state->erode <= MOTION_CUDA_ERODE_MAX;
    r = add_kernels(stage, setup, error);
    if (r == 0) {
        r = difference_gpu_init(&state->difference, setup, error);
    }
    return r < 0 || state->marked
               ? r
               : gpu_plane_init(&state->bits, stage->gpu, (setup->camera->width + 7) / 8,
                                setup->camera->height, error);
}

static void finish(struct gpu_stage *stage)
{
    struct motion_stage *state = stage->state;

    if (state) {
        difference_gpu_finish(&state->difference, stage->gpu);
        gpu_plane_finish(&state->bits, stage->gpu);
        free(state);
    }
}

static void forget(struct gpu_stage *stage)
{
    struct motion_stage *state = stage->state;

    difference_gpu_forget(&state->difference);
}

static int launch(struct gpu_stage *stage, const struct gpu_pictures *pictures,
                  struct gpu_chain *chain, struct error *error)
{
    const struct gpu_picture *input = &pictures->camera;
    struct motion_stage *state = stage->state;
    const struct mark_gpu_mask mask = {state->bits.address, state->bits.stride, state->erode};
    struct motion_cuda parameters = {
        .picture = convert_gpu_parameters(input, &pictures->output),
        .output = state->bits.address,
        .plane_stride = state->difference.gray[0].stride,
        .output_stride = state->bits.stride,
        .threshold = state->threshold,
        .erode = state->erode,
        .space = state->space,
    };
    int r;

    difference_gpu_next(&state->difference, &parameters.current, &parameters.previous);
    r = gpu_chain_add(chain, &stage->kernels[0], &parameters, sizeof parameters, NULL, input->width,
                      input->height, error);
    return r < 0 || state->marked
               ? r
               : mark_gpu_launch(&state->mark, stage, pictures, &mask, chain, error);
}

const struct gpu_stage_ops motion_gpu_ops = {.name = "motion",
                                             .takes = takes,
                                             .init = init,
                                             .finish = finish,
                                             .forget = forget,
                                             .launch = launch};
