// Erosion and dilation of black and white on the GPU: morphology.cu with its name and its tile.
#include "kernels/morphology/morphology_cuda.h"
#include "kernels/stage/gpu_stage.h"

#include <errno.h>
#include <stdio.h>

struct morphology_gpu {
    uint32_t erodes, white, black; // of the parameters
};

static unsigned takes(const struct gpu_stage_setup *setup)
{
    unsigned erodes = gpu_stage_match(setup, STAGE_ERODE);
    unsigned dilates = gpu_stage_match(setup, STAGE_DILATE);

    return setup->first || setup->steps[0].options.shades ? 0 : erodes + dilates;
}

static int init(struct gpu_stage *stage, const struct gpu_stage_setup *setup, struct error *error)
{
    unsigned times = (unsigned)setup->steps[0].options.times;
    struct gpu_tile tile = {TILE_CUDA_PIXELS, MORPHOLOGY_CUDA_ROWS(times)};
    struct morphology_gpu *state = calloc(1, sizeof *state);
    char name[32];

    if (!state) {
        return error_set(error, -ENOMEM, "no memory for shapes on the GPU");
    }
    stage->state = state;
    state->erodes = setup->steps[0].kind == STAGE_ERODE ? UINT32_MAX : 0;
    state->white = gpu_stage_shade(setup, 255);
    state->black = gpu_stage_shade(setup, 0);
    snprintf(name, sizeof name, "morphology_%u", times);
    return gpu_stage_add_kernel(stage, CONFIG_KERNEL_MORPHOLOGY, name, tile, error);
}

static void finish(struct gpu_stage *stage)
{
    free(stage->state);
}

static int launch(struct gpu_stage *stage, const struct gpu_pictures *pictures,
                  struct gpu_chain *chain, struct error *error)
{
    const struct gpu_picture *input = &pictures->input, *output = &pictures->output;
    const struct morphology_gpu *state = stage->state;
    struct morphology_cuda parameters = {
        .input = input->planes[0].address,
        .output = output->planes[0].address,
        .input_stride = input->planes[0].stride,
        .output_stride = output->planes[0].stride,
        .width = input->width,
        .height = input->height,
        .erodes = state->erodes,
        .white = state->white,
        .black = state->black,
    };

    return gpu_chain_add(chain, &stage->kernels[0], &parameters, sizeof parameters, NULL,
                         input->width, input->height, error);
}

const struct gpu_stage_ops morphology_gpu_ops = {
    .name = "morphology", .takes = takes, .init = init, .finish = finish, .launch = launch};
