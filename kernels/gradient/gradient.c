// Gain 1 is a CPU's vectors' where it has some (magnitude.h). Everything else is plain loops, which
// the compiler makes vectors of. Columns first: sums and differences of the pixels above each other
// are 16 bit rows in L1, and everything horizontal, the replicated border included, happens on
// them. So the input rows are read where they are, without padding.
#include "kernels/gradient/gradient.h"

#include "kernels/gradient/gradient_cuda.h"
#include "kernels/stage/compose.h"
#include "kernels/stage/gpu_stage.h"
#include "kernels/stage/simd.h"
#include "kernels/stage/stage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Keeps the elements left of the row in an aligned block of their own.
#define LEFT 32
// Columns left and right of a pixel that an operator may look at.
#define RADIUS_MAX 2

// Rows in the scratch memory. Those of columns reach from x = -RADIUS_MAX to
// width + RADIUS_MAX - 1.
struct gradient_scratch {
    int16_t *sums, *differences, *gx, *gy;
    uint8_t *doubts; // 1 where the right result may also be the next number, else 0
};

static size_t row_elements(uint32_t width)
{
    return LEFT + (((size_t)width + RADIUS_MAX + 63) & ~(size_t)63);
}

size_t gradient_scratch_bytes(uint32_t width)
{
    return row_elements(width) * (4 * sizeof(int16_t) + 1);
}

static struct gradient_scratch scratch_rows(void *memory, uint32_t width)
{
    size_t elements = row_elements(width);
    int16_t *sums = (int16_t *)memory + LEFT, *gx = (int16_t *)memory + 2 * elements;

    return (struct gradient_scratch){sums, sums + elements, gx, gx + elements,
                                     (uint8_t *)(gx + 2 * elements)};
}

// Smoothed sums and differences of the columns of three rows, of which the outer ones weigh `side`
// and the middle one `centre`.
SIMD_INLINE void add_columns(const uint8_t *const *rows, size_t width, int side, int centre,
                             int16_t *restrict sums, int16_t *restrict differences)
{
    const uint8_t *restrict top = rows[0], *restrict middle = rows[1], *restrict bottom = rows[2];

    for (size_t x = 0; x < width; x++) {
        sums[x] = (int16_t)(side * (top[x] + bottom[x]) + centre * middle[x]);
        differences[x] = (int16_t)(bottom[x] - top[x]);
    }
}

SIMD_CLONES
static void columns_sobel(const uint8_t *const *rows, size_t width, int16_t *restrict sums,
                          int16_t *restrict differences)
{
    add_columns(rows, width, 1, 2, sums, differences);
}

SIMD_CLONES
static void columns_scharr(const uint8_t *const *rows, size_t width, int16_t *restrict sums,
                           int16_t *restrict differences)
{
    add_columns(rows, width, 3, 10, sums, differences);
}

SIMD_CLONES
static void columns_prewitt(const uint8_t *const *rows, size_t width, int16_t *restrict sums,
                            int16_t *restrict differences)
{
    add_columns(rows, width, 1, 1, sums, differences);
}

SIMD_CLONES
static void columns_sobel5(const uint8_t *const *rows, size_t width, int16_t *restrict sums,
                           int16_t *restrict differences)
{
    const uint8_t *restrict a = rows[0], *restrict b = rows[1], *restrict c = rows[2];
    const uint8_t *restrict d = rows[3], *restrict e = rows[4];

    for (size_t x = 0; x < width; x++) {
        sums[x] = (int16_t)(a[x] + e[x] + 4 * (b[x] + d[x]) + 6 * c[x]);
        differences[x] = (int16_t)(e[x] - a[x] + 2 * (d[x] - b[x]));
    }
}

// The square root of n >= 0, 7e-7 off.
//
// A reciprocal root from the bits of the float (Moroz et al., "Modified Fast Inverse Square Root",
// 2018: 6.5e-4 off after their first step), then one Newton step.
SIMD_INLINE float root(int32_t n)
{
    union {
        float value;
        uint32_t bits;
    } number = {.value = (float)n}, guess = {.bits = 0x5f1ffff9 - (number.bits >> 1)};
    float y = guess.value;

    y *= 1.681915f - 0.703952253f * number.value * y * y;
    return number.value * y * (1.5f - 0.5f * number.value * y * y);
}

SIMD_INLINE int32_t square_sum(int16_t gx, int16_t gy)
{
    return gx * gx + gy * gy;
}

SIMD_INLINE int16_t absolute_sum(int16_t gx, int16_t gy)
{
    return (int16_t)((gx < 0 ? -gx : gx) + (gy < 0 ? -gy : gy));
}

// The integer nearest to a number from 0 to 255.
SIMD_INLINE uint8_t near(float magnitude, float half)
{
    return (uint8_t)(int32_t)((magnitude < 255 ? magnitude : 255) + half);
}

// rint() of the smaller of a number >= 0 and 255: added to 1.5 * 2^52, where doubles lie 1 apart,
// it is rounded half to even.
SIMD_INLINE uint8_t round_exactly(double magnitude)
{
    return (uint8_t)(int32_t)((magnitude < 255 ? magnitude : 255) + 0x1.8p52 - 0x1.8p52);
}

// Float arithmetic is off by less than 2e-4 where results are below 256.
#define DOUBT 5e-4f

// Loops over a row of columns: gx and gy; rounded gain * (|gx| + |gy|); what float arithmetic says
// about rounded gain * sqrt(gx² + gy²), and where it is in doubt. `gx_at` and `gy_at` are those of
// a pixel, of the sums `s` and the differences `d` around it.
#define DEFINE_OPERATOR(op, gx_at, gy_at)                                                          \
    SIMD_CLONES                                                                                    \
    static void slopes_##op(const int16_t *restrict s, const int16_t *restrict d, size_t width,    \
                            int16_t *restrict gx, int16_t *restrict gy)                            \
    {                                                                                              \
        for (size_t x = 0; x < width; x++, s++, d++) {                                             \
            gx[x] = (int16_t)(gx_at);                                                              \
            gy[x] = (int16_t)(gy_at);                                                              \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    SIMD_CLONES                                                                                    \
    static void scale_l1_##op(const int16_t *restrict s, const int16_t *restrict d, size_t width,  \
                              double gain, uint8_t *restrict output)                               \
    {                                                                                              \
        for (size_t x = 0; x < width; x++, s++, d++) {                                             \
            output[x] = round_exactly(gain * absolute_sum((int16_t)(gx_at), (int16_t)(gy_at)));    \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    SIMD_CLONES                                                                                    \
    static void scale_l2_##op(const int16_t *restrict s, const int16_t *restrict d, size_t width,  \
                              float gain, uint8_t *restrict results, uint8_t *restrict doubts)     \
    {                                                                                              \
        for (size_t x = 0; x < width; x++, s++, d++) {                                             \
            float magnitude = gain * root(square_sum((int16_t)(gx_at), (int16_t)(gy_at)));         \
                                                                                                   \
            results[x] = near(magnitude, 0.5f - DOUBT);                                            \
            doubts[x] = (uint8_t)(near(magnitude, 0.5f + DOUBT) - results[x]);                     \
        }                                                                                          \
    }

DEFINE_OPERATOR(sobel, s[1] - s[-1], d[-1] + 2 * d[0] + d[1])
DEFINE_OPERATOR(sobel5, s[2] - s[-2] + 2 * (s[1] - s[-1]),
                d[-2] + d[2] + 4 * (d[-1] + d[1]) + 6 * d[0])
DEFINE_OPERATOR(scharr, s[1] - s[-1], 3 * (d[-1] + d[1]) + 10 * d[0])
DEFINE_OPERATOR(prewitt, s[1] - s[-1], d[-1] + d[0] + d[1])

// An integer n comes no closer to a rounding tie than 1.9e-6 of its root below 256, so with gain 1
// the root rounds exactly, and the test tries them all.
SIMD_CLONES
static void measure_l2(const int16_t *restrict gx, const int16_t *restrict gy, size_t width,
                       uint8_t *restrict output)
{
    for (size_t x = 0; x < width; x++)
        output[x] = near(root(square_sum(gx[x], gy[x])), 0.5f);
}

SIMD_CLONES
static void measure_l1(const int16_t *restrict gx, const int16_t *restrict gy, size_t width,
                       uint8_t *restrict output)
{
    for (size_t x = 0; x < width; x++) {
        int16_t sum = absolute_sum(gx[x], gy[x]);

        output[x] = (uint8_t)(sum < 255 ? sum : 255);
    }
}

#define OPERATOR(radius, op)                                                                       \
    {                                                                                              \
        radius, columns_##op, slopes_##op, scale_l1_##op, scale_l2_##op                            \
    }

static const struct {
    unsigned radius;
    void (*columns)(const uint8_t *const *rows, size_t width, int16_t *restrict sums,
                    int16_t *restrict differences);
    void (*slopes)(const int16_t *restrict sums, const int16_t *restrict differences, size_t width,
                   int16_t *restrict gx, int16_t *restrict gy);
    void (*scale_l1)(const int16_t *restrict sums, const int16_t *restrict differences,
                     size_t width, double gain, uint8_t *restrict output);
    void (*scale_l2)(const int16_t *restrict sums, const int16_t *restrict differences,
                     size_t width, float gain, uint8_t *restrict results, uint8_t *restrict doubts);
} operators[CONFIG_OPERATOR_COUNT] = {
    [CONFIG_OPERATOR_SOBEL] = OPERATOR(1, sobel),
    [CONFIG_OPERATOR_SOBEL5] = OPERATOR(2, sobel5),
    [CONFIG_OPERATOR_SCHARR] = OPERATOR(1, scharr),
    [CONFIG_OPERATOR_PREWITT] = OPERATOR(1, prewitt),
};

static void replicate_border(int16_t *row, uint32_t width)
{
    for (int i = 0; i < RADIUS_MAX; i++) {
        row[-1 - i] = row[0];
        row[width + (uint32_t)i] = row[width - 1];
    }
}

struct gradient_columns gradient_find_columns(const struct gradient *gradient,
                                              const uint8_t *const *rows, uint32_t width,
                                              void *memory)
{
    struct gradient_scratch scratch = scratch_rows(memory, width);

    operators[gradient->op].columns(rows, width, scratch.sums, scratch.differences);
    replicate_border(scratch.sums, width);
    replicate_border(scratch.differences, width);
    return (struct gradient_columns){scratch.sums, scratch.differences};
}

struct gradient_slopes gradient_find_slopes(const struct gradient *gradient,
                                            struct gradient_columns columns, uint32_t width,
                                            void *memory)
{
    struct gradient_scratch scratch = scratch_rows(memory, width);

    operators[gradient->op].slopes(columns.sums, columns.differences, width, scratch.gx,
                                   scratch.gy);
    return (struct gradient_slopes){scratch.gx, scratch.gy};
}

// Doubts are rare, so eight are looked at in one go.
static void settle(const struct gradient *gradient, struct gradient_columns columns,
                   const uint8_t *doubts, uint32_t width, uint8_t *results)
{
    for (uint32_t first = 0; first < width; first += sizeof(uint64_t)) {
        uint64_t some;

        memcpy(&some, doubts + first, sizeof some);
        for (uint32_t x = first; some != 0 && x < width; x++, some >>= 8) {
            if (some & 1) {
                int16_t gx, gy;

                operators[gradient->op].slopes(columns.sums + x, columns.differences + x, 1, &gx,
                                               &gy);
                results[x] = (uint8_t)(results[x] + ((uint32_t)square_sum(gx, gy) >=
                                                     gradient->thresholds[results[x] + 1]));
            }
        }
    }
}

void gradient_measure(const struct gradient *gradient, struct gradient_columns columns,
                      uint32_t width, void *memory, uint8_t *output)
{
    bool l2 = gradient->norm == CONFIG_NORM_L2;

    if (gradient->gain == 1.0) {
        struct gradient_slopes slopes = gradient_find_slopes(gradient, columns, width, memory);

        (l2 ? measure_l2 : measure_l1)(slopes.gx, slopes.gy, width, output);
    } else if (!l2) {
        operators[gradient->op].scale_l1(columns.sums, columns.differences, width, gradient->gain,
                                         output);
    } else {
        uint8_t *doubts = scratch_rows(memory, width).doubts;

        operators[gradient->op].scale_l2(columns.sums, columns.differences, width,
                                         (float)gradient->gain, output, doubts);
        settle(gradient, columns, doubts, width, output);
    }
}

static void run_rows(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                     unsigned count, uint32_t width, void *scratch, uint8_t *const *outputs)
{
    const struct gradient *gradient = stage->state;

    (void)y;
    if (gradient->rows) {
        gradient->rows(rows, count, width, stage->limited, outputs);
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        gradient_measure(gradient, gradient_find_columns(gradient, rows + i, width, scratch), width,
                         scratch, outputs[i]);
        if (stage->limited)
            compose_in_place(outputs[i], width);
    }
}

// The definition. Monotone in n.
static uint8_t result_of(enum config_norm norm, double gain, uint32_t n)
{
    double magnitude = rint(gain * (norm == CONFIG_NORM_L2 ? sqrt(n) : n));

    return magnitude < 255 ? (uint8_t)magnitude : 255;
}

static uint32_t threshold(enum config_norm norm, double gain, unsigned result)
{
    uint32_t reach =
        norm == CONFIG_NORM_L2 ? 2 * GRADIENT_REACH * GRADIENT_REACH : 2 * GRADIENT_REACH;
    uint32_t low = 0, high = reach + 1;

    while (low < high) {
        uint32_t middle = (low + high) / 2;

        if (result_of(norm, gain, middle) >= result)
            high = middle;
        else
            low = middle + 1;
    }
    return low > reach ? UINT32_MAX : low;
}

void gradient_thresholds(enum config_norm norm, double gain, uint32_t ret_thresholds[256])
{
    for (unsigned i = 0; i < 256; i++)
        ret_thresholds[i] = threshold(norm, gain, i);
}

unsigned gradient_radius(enum config_operator op)
{
    return operators[op].radius;
}

void gradient_set(struct gradient *gradient, const struct stage_options *options)
{
    gradient->op = options->op;
    gradient->norm = options->norm;
    gradient->gain = options->gain;
    if (gradient->gain == 1.0)
        gradient->rows = magnitude_rows_for(gradient->norm, gradient->op);
    else if (gradient->norm == CONFIG_NORM_L2)
        gradient_thresholds(gradient->norm, gradient->gain, gradient->thresholds);
}

static int init(struct stage *stage, const struct stage_setup *setup, struct error *error)
{
    (void)error;
    stage->radius = gradient_radius(setup->options->op);
    stage->scratch_bytes = gradient_scratch_bytes(setup->input->width);
    stage->run_rows = run_rows;
    gradient_set(stage->state, setup->options);
    return 0;
}

const struct stage_ops gradient_ops = {
    .state_bytes = sizeof(struct gradient),
    .init = init,
    .limits = true,
};

// Edges on the GPU: gradient.cu with its name, tile and thresholds.

static const char *const kernel_names[CONFIG_OPERATOR_COUNT] = {
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

// Sobel reads any picture and can make black and white; the other kernels read gray alone.
static unsigned fuses(const struct gpu_stage_setup *setup)
{
    unsigned count = gpu_stage_match(setup, STAGE_GRADIENT), gradient = gradient_at(setup);

    if (count == 0)
        return 0;
    if (setup->steps[gradient].options.op == CONFIG_OPERATOR_SOBEL)
        return count + match_threshold(setup);
    return gradient == 0 ? count : 0;
}

static unsigned rows_of(const struct gpu_stage_setup *setup)
{
    if (!setup->mapped || !setup->first)
        return JOB_ROWS;
    return setup->camera->height < GRADIENT_CUDA_TALL ? JOB_ROWS_MAPPED : GRADIENT_CUDA_ROWS_TALL;
}

static int init_gpu(struct gpu_stage *stage, const struct gpu_stage_setup *setup,
                    struct error *error)
{
    const struct plan_step *step = &setup->steps[gradient_at(setup)];
    const struct stage_options *options = &step->options;
    const char *name = kernel_names[options->op], *range = "full";
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
    if (r < 0)
        return r;
    stage->kernels[0].rows_vary = true;
    return gpu_stage_add_memory(stage, thresholds, sizeof thresholds, "thresholds", error,
                                &parameters->thresholds);
}

const struct gpu_stage_ops gradient_gpu_ops = {.name = "gradient",
                                               .state_size = sizeof(struct gradient_cuda),
                                               .fuses = fuses,
                                               .init = init_gpu,
                                               .launch = gpu_stage_launch};
