// Edges on the GPU: gradient.cu with its name, its tile and its thresholds.
#include "kernels/gpu_stage.h"
#include "kernels/gradient_cuda.h"

#include <errno.h>
#include <stdio.h>

struct gradient_gpu {
    uint64_t thresholds; // owned device memory
    double gain;
};

static unsigned takes(const struct gpu_stage_setup *setup)
{
    unsigned count = gpu_stage_match(setup, STAGE_GRADIENT);
    unsigned gradient = setup->steps[0].kind == STAGE_GRAY;

    return count > 0 && setup->steps[gradient].options.operator== CONFIG_OPERATOR_SOBEL ? count : 0;
}

static int upload_thresholds(struct gpu_stage *stage, const struct stage_options *options,
                             struct error *error)
{
    struct gradient_gpu *state = stage->state;
    const struct cuda_driver *driver = gpu_driver(stage->gpu);
    uint32_t thresholds[256];
    int r;

    gradient_thresholds(options->norm, options->gain, thresholds);
    r = cuda_driver_check(driver, driver->mem_alloc(&state->thresholds, sizeof thresholds),
                          "allocating thresholds", error);
    if (r < 0) {
        return r;
    }
    // In the stream's order: a copy outside it may still be under way when a kernel starts.
    return cuda_driver_check(driver,
                             driver->copy_to_device(state->thresholds, thresholds,
                                                    sizeof thresholds, gpu_stream(stage->gpu)),
                             "copying thresholds", error);
}

static unsigned rows_of(bool mapped, uint32_t height)
{
    if (!mapped) {
        return GRADIENT_CUDA_ROWS;
    }
    return height < GRADIENT_CUDA_TALL ? GRADIENT_CUDA_ROWS_MAPPED : GRADIENT_CUDA_ROWS_MAPPED_TALL;
}

static int init(struct gpu_stage *stage, const struct gpu_stage_setup *setup, struct error *error)
{
    const struct stage_options *options = &setup->steps[setup->steps[0].kind == STAGE_GRAY].options;
    struct gpu_tile tile = {TILE_CUDA_PIXELS,
                            rows_of(setup->mapped && setup->first, setup->camera->height)};
    struct gradient_gpu *state = calloc(1, sizeof *state);
    char name[64];
    int r;

    if (!state) {
        return error_set(error, -ENOMEM, "no memory for edges on the GPU");
    }
    stage->state = state;
    state->gain = options->gain;
    snprintf(name, sizeof name, "gradient_%s_%s_%s", gpu_stage_layout(setup),
             options->norm == CONFIG_NORM_L2 ? "l2" : "l1",
             gpu_stage_limited(setup) ? "limited" : "full");
    r = gpu_stage_add_kernel(stage, CONFIG_KERNEL_GRADIENT, name, tile, error);
    if (r == 0) {
        stage->kernels[0].rows_vary = true;
        r = upload_thresholds(stage, options, error);
    }
    return r;
}

static void finish(struct gpu_stage *stage)
{
    struct gradient_gpu *state = stage->state;

    if (state && state->thresholds && !gpu_is_lost(stage->gpu)) {
        gpu_driver(stage->gpu)->mem_free(state->thresholds);
    }
    free(state);
}

static int launch(struct gpu_stage *stage, const struct gpu_pictures *pictures,
                  struct gpu_chain *chain, struct error *error)
{
    const struct gpu_picture *input = &pictures->input, *output = &pictures->output;
    const struct gradient_gpu *state = stage->state;
    struct gradient_cuda parameters = {
        .input = input->planes[0].address,
        .output = output->planes[0].address,
        .thresholds = state->thresholds,
        .input_stride = input->planes[0].stride,
        .output_stride = output->planes[0].stride,
        .width = input->width,
        .height = input->height,
        .gain = (float)state->gain,
        .unity = state->gain == 1.0,
    };

    return gpu_chain_add(chain, &stage->kernels[0], &parameters, sizeof parameters,
                         &parameters.rows, input->width, input->height, error);
}

const struct gpu_stage_ops gradient_gpu_ops = {
    .name = "gradient", .takes = takes, .init = init, .finish = finish, .launch = launch};
