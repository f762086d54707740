// Edges on the GPU: gradient.cu and operator.cu with their names, tiles and thresholds.
#include "kernels/gradient/gradient.h"
#include "kernels/gradient/gradient_cuda.h"
#include "kernels/stage/gpu_stage.h"

#include <errno.h>
#include <stdio.h>

static const char *const operators[CONFIG_OPERATOR_COUNT] = {
    [CONFIG_OPERATOR_SCHARR] = "scharr",
    [CONFIG_OPERATOR_PREWITT] = "prewitt",
    [CONFIG_OPERATOR_SOBEL5] = "sobel5",
};

struct gradient_gpu {
    uint64_t thresholds; // owned device memory
    double gain;
    uint32_t least, white, black; // of the binary kernels
};

// The gradient among the steps, which begin with gray or not.
static unsigned gradient_at(const struct gpu_stage_setup *setup)
{
    return setup->steps[0].kind == STAGE_GRAY;
}

// How many steps a fixed threshold and the range behind it make, behind the gradient.
static unsigned match_threshold(const struct gpu_stage_setup *setup)
{
    unsigned i = gradient_at(setup) + 1;

    if (i >= setup->count || setup->steps[i].kind != STAGE_THRESHOLD ||
        setup->steps[i].options.threshold == CONFIG_THRESHOLD_OTSU) {
        return 0;
    }
    return 1 + (i + 1 < setup->count && setup->steps[i + 1].kind == STAGE_COMPOSE);
}

// The Sobel takes any picture and goes on to black and white; the others take gray alone.
static unsigned takes(const struct gpu_stage_setup *setup)
{
    unsigned count = gpu_stage_match(setup, STAGE_GRADIENT), gradient = gradient_at(setup);

    if (count == 0) {
        return 0;
    }
    if (setup->steps[gradient].options.operator== CONFIG_OPERATOR_SOBEL) {
        return count + match_threshold(setup);
    }
    return gradient == 0 ? count : 0;
}

static int upload_thresholds(struct gpu_stage *stage, const uint32_t *thresholds,
                             struct error *error)
{
    struct gradient_gpu *state = stage->state;
    const struct cuda_driver *driver = gpu_driver(stage->gpu);
    size_t size = 256 * sizeof *thresholds;
    int r = cuda_driver_check(driver, driver->mem_alloc(&state->thresholds, size),
                              "allocating thresholds", error);

    if (r < 0) {
        return r;
    }
    // In the stream's order: a copy outside it may still be under way when a kernel starts.
    return cuda_driver_check(
        driver, driver->copy_to_device(state->thresholds, thresholds, size, gpu_stream(stage->gpu)),
        "copying thresholds", error);
}

static unsigned rows_of(const struct gpu_stage_setup *setup)
{
    if (!setup->mapped || !setup->first) {
        return GRADIENT_CUDA_ROWS;
    }
    return setup->camera->height < GRADIENT_CUDA_TALL ? GRADIENT_CUDA_ROWS_MAPPED
                                                      : GRADIENT_CUDA_ROWS_MAPPED_TALL;
}

static int add_kernel(struct gpu_stage *stage, const struct gpu_stage_setup *setup,
                      struct error *error)
{
    const struct stage_options *options = &setup->steps[gradient_at(setup)].options;
    struct gpu_tile tile = {TILE_CUDA_PIXELS, rows_of(setup)};
    const char *operator= operators[options->operator];
    const char *range = gpu_stage_limited(setup) ? "limited" : "full";
    char name[64];

    snprintf(name, sizeof name, "%s_%s_%s_%s", operator? "operator" : "gradient",
             operator? operator: gpu_stage_layout(setup),
             options->norm == CONFIG_NORM_L2 ? "l2" : "l1",
             match_threshold(setup) > 0 ? "binary" : range);
    return gpu_stage_add_kernel(stage, CONFIG_KERNEL_GRADIENT, name, tile, error);
}

static int init(struct gpu_stage *stage, const struct gpu_stage_setup *setup, struct error *error)
{
    const struct plan_step *step = &setup->steps[gradient_at(setup)];
    struct gradient_gpu *state = calloc(1, sizeof *state);
    uint32_t thresholds[256];
    int r;

    if (!state) {
        return error_set(error, -ENOMEM, "no memory for edges on the GPU");
    }
    stage->state = state;
    state->gain = step->options.gain;
    gradient_thresholds(step->options.norm, state->gain, thresholds);
    if (match_threshold(setup) > 0) {
        state->least = thresholds[step[1].options.threshold];
        state->white = gpu_stage_shade(setup, 255);
        state->black = gpu_stage_shade(setup, 0);
    }
    r = add_kernel(stage, setup, error);
    if (r == 0) {
        stage->kernels[0].rows_vary = true;
        r = upload_thresholds(stage, thresholds, error);
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
        .least = state->least,
        .white = state->white,
        .black = state->black,
    };

    return gpu_chain_add(chain, &stage->kernels[0], &parameters, sizeof parameters,
                         &parameters.rows, input->width, input->height, error);
}

const struct gpu_stage_ops gradient_gpu_ops = {
    .name = "gradient", .takes = takes, .init = init, .finish = finish, .launch = launch};
