// Black and white on the GPU: threshold.cu with its names, its tile and what an automatic threshold
// leaves on the device.
#include "kernels/gpu_stage.h"
#include "kernels/threshold_cuda.h"

#include <errno.h>

// Blocks of the histogram a multiprocessor works on: enough to keep it busy, few to be added up.
#define BLOCKS 4

struct threshold_gpu {
    uint32_t level, white, black; // of the parameters
    uint64_t device;              // owned device memory, a threshold_cuda_state; 0: fixed
    struct CUfunc_st *histogram;
};

static unsigned takes(const struct gpu_stage_setup *setup)
{
    return setup->first ? 0 : gpu_stage_match(setup, STAGE_THRESHOLD);
}

static int init_automatic(struct gpu_stage *stage, struct error *error)
{
    static const struct threshold_cuda_state zero;
    const struct cuda_driver *driver = gpu_driver(stage->gpu);
    struct threshold_gpu *state = stage->state;
    int r = gpu_kernel(stage->gpu, "threshold_histogram", error, &state->histogram);

    if (r == 0) {
        r = cuda_driver_check(driver, driver->mem_alloc(&state->device, sizeof zero),
                              "allocating a histogram", error);
    }
    if (r == 0) {
        r = cuda_driver_check(
            driver,
            driver->copy_to_device(state->device, &zero, sizeof zero, gpu_stream(stage->gpu)),
            "clearing a histogram", error);
    }
    return r;
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
        r = init_automatic(stage, error);
    }
    return r;
}

static void finish(struct gpu_stage *stage)
{
    struct threshold_gpu *state = stage->state;

    if (state && state->device && !gpu_is_lost(stage->gpu)) {
        gpu_driver(stage->gpu)->mem_free(state->device);
    }
    free(state);
}

static int find_level(struct gpu_stage *stage, const struct gpu_picture *input,
                      struct gpu_chain *chain, struct error *error)
{
    const struct threshold_gpu *state = stage->state;
    unsigned most = BLOCKS * (unsigned)gpu_info(stage->gpu)->multiprocessors;
    unsigned blocks = (input->height + THRESHOLD_CUDA_BLOCK_ROWS - 1) / THRESHOLD_CUDA_BLOCK_ROWS;
    struct threshold_histogram_cuda parameters = {
        .input = input->planes[0].address,
        .state = state->device,
        .input_stride = input->planes[0].stride,
        .width = input->width,
        .height = input->height,
    };

    if (most > 0 && blocks > most) {
        blocks = most;
    }
    return gpu_chain_add_fixed(chain, state->histogram, (struct gpu_grid){blocks, 1, 1},
                               THRESHOLD_CUDA_THREADS, &parameters, sizeof parameters, error);
}

static int launch(struct gpu_stage *stage, const struct gpu_pictures *pictures,
                  struct gpu_chain *chain, struct error *error)
{
    const struct gpu_picture *input = &pictures->input, *output = &pictures->output;
    const struct threshold_gpu *state = stage->state;
    struct threshold_compare_cuda parameters = {
        .input = input->planes[0].address,
        .output = output->planes[0].address,
        .state = state->device,
        .input_stride = input->planes[0].stride,
        .output_stride = output->planes[0].stride,
        .width = input->width,
        .height = input->height,
        .level = state->level,
        .white = state->white,
        .black = state->black,
    };
    int r = state->device ? find_level(stage, input, chain, error) : 0;

    return r < 0 ? r
                 : gpu_chain_add(chain, &stage->kernels[0], &parameters, sizeof parameters, NULL,
                                 input->width, input->height, error);
}

const struct gpu_stage_ops threshold_gpu_ops = {
    .name = "threshold", .takes = takes, .init = init, .finish = finish, .launch = launch};
