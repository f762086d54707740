// Black and white on the GPU: threshold.cu with its name, its tile and its level; an automatic one
// stays on the device.
#include "kernels/levels/levels_gpu.h"
#include "kernels/threshold/threshold_cuda.h"

#include <errno.h>

struct threshold_gpu {
    uint32_t level, white, black; // of the parameters
    struct levels_gpu levels;     // of an automatic threshold
};

static unsigned takes(const struct gpu_stage_setup *setup)
{
    return setup->first ? 0 : gpu_stage_match(setup, STAGE_THRESHOLD);
}

static int init(struct gpu_stage *stage, const struct gpu_stage_setup *setup, struct error *error)
{
    int threshold = setup->steps[0].options.threshold;
    struct threshold_gpu *state = calloc(1, sizeof *state);
    int r;

    if (!state) {
        return error_set(error, -ENOMEM, "no memory for black and white on the GPU");
    }
    stage->state = state;
    state->level = (uint32_t)threshold;
    state->white = gpu_stage_shade(setup, 255);
    state->black = gpu_stage_shade(setup, 0);
    r = gpu_stage_add_kernel(stage, CONFIG_KERNEL_THRESHOLD, "threshold_compare",
                             (struct gpu_tile){TILE_CUDA_PIXELS, THRESHOLD_CUDA_ROWS}, error);
    if (r == 0 && threshold == CONFIG_THRESHOLD_OTSU) {
        r = levels_gpu_init(&state->levels, stage->gpu, "levels_otsu", error);
    }
    return r;
}

static void finish(struct gpu_stage *stage)
{
    struct threshold_gpu *state = stage->state;

    if (state) {
        levels_gpu_finish(&state->levels, stage->gpu);
    }
    free(state);
}

static int launch(struct gpu_stage *stage, const struct gpu_pictures *pictures,
                  struct gpu_chain *chain, struct error *error)
{
    const struct gpu_picture *input = &pictures->input, *output = &pictures->output;
    const struct threshold_gpu *state = stage->state;
    struct threshold_compare_cuda parameters = {
        .input = input->planes[0].address,
        .output = output->planes[0].address,
        .state = state->levels.state,
        .input_stride = input->planes[0].stride,
        .output_stride = output->planes[0].stride,
        .width = input->width,
        .height = input->height,
        .level = state->level,
        .white = state->white,
        .black = state->black,
    };
    int r = state->levels.state ? levels_gpu_add(&state->levels, input, chain, error) : 0;

    return r < 0 ? r
                 : gpu_chain_add(chain, &stage->kernels[0], &parameters, sizeof parameters, NULL,
                                 input->width, input->height, error);
}

const struct gpu_stage_ops threshold_gpu_ops = {
    .name = "threshold", .takes = takes, .init = init, .finish = finish, .launch = launch};
