// Row stage, the last of its view: gray rows to the direction of their gradient as a hue, and its
// magnitude as brightness.
//
// gx, gy and the magnitude m are the gradient's (gradient.h), for every operator, norm and gain.
// The direction is the angle of (gx, gy): 0 where it gets brighter to the right, 90 degrees where
// it gets brighter downwards. In integers:
//
//   s = max(|gx| + |gy|, 1)    step = floor(126 gy / s + 1/2)
//   angle = atan2(step, +-(126 - |step|)), the sign that of gx
//   hue = round(1536 angle / 360 degrees) modulo 1536
//
// so 504 directions, whose hue is at most 0.58 degrees off the exact angle. (gx, gy) / s is a point
// of the square with corners on the axes: its side is cut into steps, which takes a division and no
// comparison of gx with gy. The hue's colour at full strength, red, green and blue in 256ths, is
// HSV's (A. R. Smith, "Color gamut transform pairs", 1978): red at 0, yellow at 256, green at 512,
// cyan at 768, blue at 1024, magenta at 1280, with straight lines in between. To YUV it goes by
// the factors of colour.h, of limited range and the matrix of the camera's picture, rounded to odd
// numbers, of 2048ths for Y and of 4096ths for U and V. By BT.601: l_y =
// 2 floor((269484 w_red + 528482 w_green + 102760 w_blue) / 2^18) + 1 and so on, 2^17 for U and V.
// Odd, so that no product with m is half way between two integers: however a machine rounds, it
// rounds to the same; and of 11 bits, so that halves hold them.
//
// - To RGB3: (m w + 128) >> 8 of each.
// - To NV12, limited range: Y = 16 + m l_y / 2048 rounded, and U, V with 128 for 16 and
//   4096 for 2048, of the top left pixel of two by two.
#include "kernels/convert/colour.h"
#include "kernels/direction/direction_cuda.h"
#include "kernels/gradient/gradient.h"
#include "kernels/stage/gpu_stage.h"
#include "kernels/stage/simd.h"
#include "kernels/stage/stage.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

// Directions are numbered step + 126 + 256 (gx < 0); the numbers that are left are none.
#define DIRECTION_STEPS 126
#define DIRECTION_COUNT 512
// Factors of Y are in 2^-11, those of U and V in 2^-12.
#define DIRECTION_Y_BITS 11
#define DIRECTION_UV_BITS 12

struct direction {
    struct gradient gradient;
    const struct direction_colours *colours; // static
    struct frame *output;                    // not owned; of the frame being computed
};

// Of every direction what m is multiplied with.
struct direction_colours {
    int32_t red[DIRECTION_COUNT], green[DIRECTION_COUNT], blue[DIRECTION_COUNT]; // 0..256
    int32_t y[DIRECTION_COUNT], u[DIRECTION_COUNT], v[DIRECTION_COUNT];
};

// By the matrix of the camera's picture, BT.601 if it is RGB; static.
const struct direction_colours *direction_colours(const struct frame_layout *camera);

#define HUES 1536
#define STEPS DIRECTION_STEPS

static int hue_of(unsigned direction)
{
    int y = (int)(direction % 256) - STEPS, x = STEPS - abs(y);
    double angle = atan2(y, direction < 256 ? x : -x);

    return ((int)lrint(HUES / (2 * M_PI) * angle) + HUES) % HUES;
}

// In 2^-`bits`, odd; the factors are in 2^-20.
static int32_t weigh(const int32_t colour[3], unsigned bits, const int32_t factors[3])
{
    return (factors[0] * colour[0] + factors[1] * colour[1] + factors[2] * colour[2]) >>
               (28 - bits) |
           1;
}

static struct direction_colours all_colours[COLOUR_MATRIX_COUNT];

static void make_colours_of(unsigned matrix_number, struct direction_colours *colours)
{
    const struct colour_space space = colour_space_of(matrix_number, FRAME_RANGE_LIMITED);

    for (unsigned i = 0; i < DIRECTION_COUNT; i++) {
        int hue = hue_of(i), rise = hue % 256, fall = 256 - rise;
        const int32_t sectors[6][3] = {{256, rise, 0}, {fall, 256, 0}, {0, 256, rise},
                                       {0, fall, 256}, {rise, 0, 256}, {256, 0, fall}};
        const int32_t *colour = sectors[hue / 256];

        colours->red[i] = colour[0];
        colours->green[i] = colour[1];
        colours->blue[i] = colour[2];
        colours->y[i] = weigh(colour, DIRECTION_Y_BITS, space.y);
        colours->u[i] = weigh(colour, DIRECTION_UV_BITS, space.u);
        colours->v[i] = weigh(colour, DIRECTION_UV_BITS, space.v);
    }
}

static void make_colours(void)
{
    for (unsigned i = 0; i < COLOUR_MATRIX_COUNT; i++)
        make_colours_of(i, &all_colours[i]);
}

const struct direction_colours *direction_colours(const struct frame_layout *camera)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make_colours);
    return &all_colours[colour_matrix_number(camera->colour.matrix)];
}

SIMD_INLINE int32_t size_of(int32_t slope)
{
    return slope < 0 ? -slope : slope;
}

// Halves go up, so those of negative steps towards 0. A quotient of floats is rounded once, by at
// most 2^-18; the quarter of a step's divisor keeps it 2^-17 from the next integer on both sides,
// for whatever gradient. Without branches, which the vectorizer does not take.
SIMD_CLONES
static void find_directions(const int16_t *restrict gx, const int16_t *restrict gy, size_t width,
                            uint16_t *restrict directions)
{
    for (size_t i = 0; i < width; i++) {
        int32_t along = size_of(gy[i]), sum = size_of(gx[i]) + along, least = sum + (sum == 0);
        int32_t sign = gy[i] >> 15 | 1;
        int32_t step =
            (int32_t)((float)(4 * STEPS * along + 2 * least + sign) / (float)(4 * least));

        directions[i] = (uint16_t)(sign * step + STEPS + (gx[i] >> 15 & 256));
    }
}

struct direction_row {
    const uint8_t *magnitudes;
    uint16_t *directions;
};

static size_t padded(uint32_t width)
{
    return ((size_t)width + 63) & ~(size_t)63;
}

// The gradient's own scratch memory, one row of directions, and rows of magnitudes.
static size_t scratch_bytes(uint32_t width)
{
    return gradient_scratch_bytes(width) + 64 + (sizeof(uint16_t) + STAGE_ROWS_MAX) * padded(width);
}

SIMD_CLONES
static void write_rgb3(const struct direction_colours *of, const struct direction_row *row,
                       size_t width, uint8_t *restrict output)
{
    for (size_t x = 0; x < width; x++) {
        unsigned i = row->directions[x], m = row->magnitudes[x];

        output[3 * x] = (uint8_t)((m * (unsigned)of->red[i] + 128) >> 8);
        output[3 * x + 1] = (uint8_t)((m * (unsigned)of->green[i] + 128) >> 8);
        output[3 * x + 2] = (uint8_t)((m * (unsigned)of->blue[i] + 128) >> 8);
    }
}

SIMD_INLINE uint8_t scale(int32_t magnitude, int32_t factor, unsigned bits, int32_t base)
{
    return (uint8_t)((magnitude * factor + (base << bits) + (1 << (bits - 1))) >> bits);
}

SIMD_CLONES
static void write_luma(const int32_t *restrict y, const uint16_t *restrict directions,
                       const uint8_t *restrict magnitudes, size_t width, uint8_t *restrict luma)
{
    for (size_t x = 0; x < width; x++)
        luma[x] = scale(magnitudes[x], y[directions[x]], DIRECTION_Y_BITS, 16);
}

static void write_chroma(const struct direction_colours *of, const struct direction_row *row,
                         size_t pairs, uint8_t *restrict chroma)
{
    for (size_t x = 0; x < pairs; x++) {
        unsigned i = row->directions[2 * x];
        int32_t m = row->magnitudes[2 * x];

        chroma[2 * x] = scale(m, of->u[i], DIRECTION_UV_BITS, 128);
        chroma[2 * x + 1] = scale(m, of->v[i], DIRECTION_UV_BITS, 128);
    }
}

static void write_row(const struct direction *direction, const struct direction_row *row,
                      uint32_t y, uint32_t width, uint8_t *output)
{
    const struct direction_colours *of = direction->colours;
    const struct frame *frame = direction->output;

    if (frame->layout.format->plane_count == 1) {
        write_rgb3(of, row, width, output);
        return;
    }
    write_luma(of->y, row->directions, row->magnitudes, width, output);
    if (y % 2 == 0) {
        write_chroma(of, row, frame->layout.planes[1].width_bytes / 2,
                     frame_plane(frame, 1) + y / 2 * frame->layout.planes[1].stride);
    }
}

static void run_rows(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                     unsigned count, uint32_t width, void *scratch, uint8_t *const *outputs)
{
    const struct direction *direction = stage->state;
    const struct gradient *gradient = &direction->gradient;
    uint8_t *next = (uint8_t *)scratch + ((gradient_scratch_bytes(width) + 63) & ~(size_t)63);
    uint16_t *directions = (uint16_t *)next;
    uint8_t *magnitudes[STAGE_ROWS_MAX];

    for (unsigned i = 0; i < count; i++)
        magnitudes[i] = next + (sizeof *directions + i) * padded(width);
    if (gradient->rows)
        gradient->rows(rows, count, width, false, magnitudes);
    for (unsigned i = 0; i < count; i++) {
        const struct direction_row row = {magnitudes[i], directions};
        struct gradient_columns columns = gradient_find_columns(gradient, rows + i, width, scratch);
        struct gradient_slopes slopes;

        if (!gradient->rows)
            gradient_measure(gradient, columns, width, scratch, magnitudes[i]);
        slopes = gradient_find_slopes(gradient, columns, width, scratch);
        find_directions(slopes.gx, slopes.gy, width, directions);
        write_row(direction, &row, y + i, width, outputs[i]);
    }
}

static int init(struct stage *stage, const struct stage_setup *setup, struct error *error)
{
    struct direction *direction = stage->state;

    (void)error;
    direction->colours = direction_colours(setup->input);
    stage->radius = gradient_radius(setup->options->op);
    stage->scratch_bytes = scratch_bytes(setup->input->width);
    stage->run_rows = run_rows;
    gradient_set(&direction->gradient, setup->options);
    return 0;
}

static void begin(struct stage *stage, const struct frame *input, struct frame *output)
{
    struct direction *direction = stage->state;

    (void)input;
    direction->output = output;
}

const struct stage_ops direction_ops = {
    .state_bytes = sizeof(struct direction),
    .init = init,
    .begin = begin,
};

// The direction view on the GPU: direction.cu with its name, its tile, its thresholds and tables.

#define THRESHOLDS 256

// The contents of device memory, in this order.
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
static unsigned fuses(const struct gpu_stage_setup *setup)
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

        if (first)
            strongest = true;
        else if (channels[i] > 0)
            factor = (uint32_t)channels[i];
        if (channels[i] > 0)
            selector = (selector & ~(15U << 4 * i)) | (first ? 4U : 1U) << 4 * i;
    }
    return factor << 16 | selector;
}

static void pack_colours(struct tables *tables, const struct frame_layout *camera)
{
    const struct direction_colours *of = direction_colours(camera);
    struct direction_cuda_colours *colours = &tables->colours;

    memset(colours->no_uv, 0, sizeof colours->no_uv);
    for (unsigned i = 0; i < ARRAY_LENGTH(colours->no_rgb); i++)
        colours->no_rgb[i] = NO_BYTES;
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

    pack_colours(&tables, setup->camera);
    gradient_thresholds(options->norm, options->gain, tables.thresholds);
    r = gpu_stage_add_memory(stage, &tables, sizeof tables, "colours", error, &address);
    state->parameters.colours = address;
    state->parameters.thresholds = address + offsetof(struct tables, thresholds);
    return r;
}

static int init_gpu(struct gpu_stage *stage, const struct gpu_stage_setup *setup,
                    struct error *error)
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
    if (r < 0)
        return r;
    stage->kernels[0].rows_vary = true;
    return upload(stage, setup, error);
}

static int launch_gpu(struct gpu_stage *stage, const struct gpu_pictures *pictures,
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
                                                .fuses = fuses,
                                                .init = init_gpu,
                                                .launch = launch_gpu};
