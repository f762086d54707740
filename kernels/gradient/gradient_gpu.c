// Edges on the GPU: gradient.cu with its name, tile and thresholds.
#include "kernels/gradient/gradient.h"
#include "kernels/gradient/gradient_cuda.h"
#include "kernels/stage/gpu_stage.h"

static const char *const operators[CONFIG_OPERATOR_COUNT] = {
    [CONFIG_OPERATOR_SCHARR] = "scharr",
    [CONFIG_OPERATOR_PREWITT] = "prewitt",
    [CONFIG_OPERATOR_SOBEL5] = "sobel5",
};

// The index of the gradient: it is the first step, or follows a step that makes gray.
static unsigned gradient_at(const struct gpu_stage_setup *setup)
{
    return setup->steps[0].kind == STAGE_GRAY;
}

// Counts the steps after the gradient that its kernel does as well: a fixed threshold, then the
// range.
static unsigned match_threshold(const struct gpu_stage_setup *setup)
{
    unsigned i = gradient_at(setup) + 1;

    if (i >= setup->count || setup->steps[i].kind != STAGE_THRESHOLD ||
        setup->steps[i].options.threshold == CONFIG_THRESHOLD_OTSU) {
        return 0;
    }
    return 1 + (i + 1 < setup->count && setup->steps[i + 1].kind == STAGE_COMPOSE);
}

// Sobel reads any picture and can make black and white; the other operators read gray alone.
static unsigned takes(const struct gpu_stage_setup *setup)
{
    unsigned count = gpu_stage_match(setup, STAGE_GRADIENT), gradient = gradient_at(setup);

    if (count == 0) {
        return 0;
    }
    if (setup->steps[gradient].options.op == CONFIG_OPERATOR_SOBEL) {
        return count + match_threshold(setup);
    }
    return gradient == 0 ? count : 0;
}

static unsigned rows_of(const struct gpu_stage_setup *setup)
{
    if (!setup->mapped || !setup->first) {
        return JOB_ROWS;
    }
    return setup->camera->height < GRADIENT_CUDA_TALL ? JOB_ROWS_MAPPED : GRADIENT_CUDA_ROWS_TALL;
}

static int init(struct gpu_stage *stage, const struct gpu_stage_setup *setup, struct error *error)
{
    const struct plan_step *step = &setup->steps[gradient_at(setup)];
    const struct stage_options *options = &step->options;
    const char *name = operators[options->op], *range = "full";
    struct gradient_cuda *parameters = stage->state;
    uint32_t thresholds[256];
    int r;

    gradient_thresholds(options->norm, options->gain, thresholds);
    parameters->gain = (float)options->gain;
    parameters->unity = options->gain == 1.0;
    if (match_threshold(setup) > 0) {
        parameters->least = thresholds[step[1].options.threshold];
        parameters->white = gpu_stage_shade(setup, 255);
        parameters->black = gpu_stage_shade(setup, 0);
        range = "binary";
    } else if (gpu_stage_limited(setup)) {
        range = "limited";
    }
    r = gpu_stage_add_kernel(stage, CONFIG_KERNEL_GRADIENT,
                             (struct gpu_tile){JOB_PIXELS, rows_of(setup)}, error,
                             "gradient_%s_%s_%s", name ? name : gpu_stage_layout(setup),
                             options->norm == CONFIG_NORM_L2 ? "l2" : "l1", range);
    if (r < 0) {
        return r;
    }
    stage->kernels[0].rows_vary = true;
    return gpu_stage_add_memory(stage, thresholds, sizeof thresholds, "thresholds", error,
                                &parameters->thresholds);
}

const struct gpu_stage_ops gradient_gpu_ops = {.name = "gradient",
                                               .state_size = sizeof(struct gradient_cuda),
                                               .takes = takes,
                                               .init = init,
                                               .launch = gpu_stage_launch};
