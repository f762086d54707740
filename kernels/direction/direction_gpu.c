// The direction view on the GPU: direction.cu with its name, its tile, its thresholds and tables.
#include "kernels/direction/direction.h"
#include "kernels/direction/direction_cuda.h"
#include "kernels/stage/gpu_stage.h"

#include <string.h>

#define THRESHOLDS 256

// What device memory holds, in this order.
struct tables {
    struct direction_cuda_colours colours;
    uint32_t thresholds[THRESHOLDS];
};

struct direction_stage {
    struct direction_cuda parameters;
    uint32_t vector_bytes; // that the input is read by
    bool direct;           // gain is 1, of l2
};

static const struct {
    int32_t smooth[5], derive[5];
} operators[CONFIG_OPERATOR_COUNT] = {
    [CONFIG_OPERATOR_SOBEL] = {{0, 1, 2, 1, 0}, {0, -1, 0, 1, 0}},
    [CONFIG_OPERATOR_SOBEL5] = {{1, 4, 6, 4, 1}, {-1, -2, 0, 2, 1}},
    [CONFIG_OPERATOR_SCHARR] = {{0, 3, 10, 3, 0}, {0, -1, 0, 1, 0}},
    [CONFIG_OPERATOR_PREWITT] = {{0, 1, 1, 1, 0}, {0, -1, 0, 1, 0}},
};

static const struct stage_options *options_of(const struct gpu_stage_setup *setup)
{
    return &setup->steps[setup->steps[0].kind == STAGE_GRAY].options;
}

// Sobel takes any picture, the others gray alone.
static unsigned takes(const struct gpu_stage_setup *setup)
{
    unsigned count = gpu_stage_match(setup, STAGE_DIRECTION);

    return count == 1 || (count > 1 && options_of(setup)->op == CONFIG_OPERATOR_SOBEL) ? count : 0;
}

// `n` in 2^-`bits`, at most 15, as a half; n is not 0 and has at most 11 bits.
static uint32_t half_of(int32_t n, unsigned bits)
{
    uint32_t size = (uint32_t)abs(n), top = 31 - (uint32_t)__builtin_clz(size);

    return (n < 0 ? 1U << 15 : 0) | (top + 15 - bits) << 10 | (size << (10 - top) & 0x3ff);
}

#define NO_BYTES 0x2222 // of byte permutations

// Bytes of (product, magnitude) that make red, green and blue: the magnitude where a channel is
// strongest, the product's byte 1 in the middle, its empty byte 2 where there is nothing.
static uint32_t rgb_word(const int32_t channels[3])
{
    uint32_t factor = 0, selector = NO_BYTES;
    bool strongest = false;

    for (unsigned i = 0; i < 3; i++) {
        bool first = channels[i] == 256 && !strongest;

        if (first) {
            strongest = true;
        } else if (channels[i] > 0) {
            factor = (uint32_t)channels[i];
        }
        if (channels[i] > 0) {
            selector = (selector & ~(15U << 4 * i)) | (first ? 4U : 1U) << 4 * i;
        }
    }
    return factor << 16 | selector;
}

static void make_colours(struct tables *tables, const struct frame_layout *camera)
{
    const struct direction_colours *of = direction_colours(camera);
    struct direction_cuda_colours *colours = &tables->colours;

    memset(colours->no_uv, 0, sizeof colours->no_uv);
    for (unsigned i = 0; i < ARRAY_LENGTH(colours->no_rgb); i++) {
        colours->no_rgb[i] = NO_BYTES;
    }
    for (unsigned i = 0; i < DIRECTION_CUDA_COLOURS; i++) {
        unsigned at = 2 * (i & 255) + i / 256;

        colours->y[at] = (uint16_t)half_of(of->y[i], DIRECTION_Y_BITS);
        colours->uv[at] =
            half_of(of->u[i], DIRECTION_UV_BITS) | half_of(of->v[i], DIRECTION_UV_BITS) << 16;
        colours->rgb[at] = rgb_word((int32_t[]){of->red[i], of->green[i], of->blue[i]});
    }
}

static int upload(struct gpu_stage *stage, const struct gpu_stage_setup *setup, struct error *error)
{
    const struct stage_options *options = options_of(setup);
    struct direction_stage *state = stage->state;
    struct tables tables;
    uint64_t address = 0;
    int r;

    make_colours(&tables, setup->camera);
    gradient_thresholds(options->norm, options->gain, tables.thresholds);
    r = gpu_stage_add_memory(stage, &tables, sizeof tables, "colours", error, &address);
    state->parameters.colours = address;
    state->parameters.thresholds = address + offsetof(struct tables, thresholds);
    return r;
}

static int init(struct gpu_stage *stage, const struct gpu_stage_setup *setup, struct error *error)
{
    const struct stage_options *options = options_of(setup);
    bool sobel = options->op == CONFIG_OPERATOR_SOBEL;
    struct gpu_tile tile = {JOB_PIXELS, setup->mapped && setup->first ? JOB_ROWS_MAPPED : JOB_ROWS};
    struct direction_stage *state = stage->state;
    struct direction_cuda *parameters = &state->parameters;
    int r;

    parameters->gain = (float)options->gain;
    parameters->l1 = options->norm == CONFIG_NORM_L1;
    memcpy(parameters->smooth, operators[options->op].smooth, sizeof parameters->smooth);
    memcpy(parameters->derive, operators[options->op].derive, sizeof parameters->derive);
    state->direct = options->gain == 1.0 && !parameters->l1;
    state->vector_bytes = JOB_VECTOR_BYTES(
        setup->first ? setup->camera->planes[0].width_bytes / setup->camera->width : 1);
    r = gpu_stage_add_kernel(stage, CONFIG_KERNEL_DIRECTION, tile, error, "direction_%s_%s",
                             sobel ? gpu_stage_layout(setup) : "any",
                             setup->output->luma_step == 0 ? "rgb3" : "nv12");
    if (r < 0) {
        return r;
    }
    stage->kernels[0].rows_vary = true;
    return upload(stage, setup, error);
}

static int launch(struct gpu_stage *stage, const struct gpu_pictures *pictures,
                  struct gpu_chain *chain, struct error *error)
{
    struct direction_stage *state = stage->state;
    struct direction_cuda *parameters = &state->parameters;
    const struct gpu_job *job = &parameters->job;
    uint64_t written;

    gpu_job_set(&parameters->job, &pictures->input, &pictures->output);
    written = job->output[0] | job->output[1] | job->output_stride[0] | job->output_stride[1];
    parameters->vectors = (job->input[0] | job->input_stride[0]) % state->vector_bytes == 0 &&
                          written % JOB_PIXELS == 0;
    parameters->direct = parameters->vectors && state->direct;
    return gpu_chain_add(chain, &stage->kernels[0], &parameters->job, sizeof *parameters, error);
}

const struct gpu_stage_ops direction_gpu_ops = {.name = "direction",
                                                .state_size = sizeof(struct direction_stage),
                                                .takes = takes,
                                                .init = init,
                                                .launch = launch};
