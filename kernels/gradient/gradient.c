// Columns first: sums and differences of the pixels above each other are 16 bit rows in L1, and
// everything horizontal, the replicated border included, happens on them. So the input rows are
// read where they are, without padding. Sobel's magnitudes alone take a shorter way (sobel.h).
#include "kernels/gradient/gradient.h"

#include "kernels/stage/compose.h"
#include "kernels/stage/simd.h"
#include "kernels/stage/stage.h"

#include <math.h>
#include <string.h>

// Keeps the elements left of the row in an aligned block of their own.
#define LEFT 32

static size_t row_elements(uint32_t width)
{
    return LEFT + (((size_t)width + 63) & ~(size_t)63) + MAGNITUDE_PADDING;
}

size_t gradient_scratch_bytes(uint32_t width)
{
    return row_elements(width) * (sizeof(uint32_t) + 2 * sizeof(int16_t) + 1);
}

// Three rows, of which the outer ones weigh `side` and the middle one `centre`.
#define DEFINE_COLUMNS(operator, side, centre)                                                     \
    SIMD_CLONES                                                                                    \
    static void add_##operator(const uint8_t *restrict top, const uint8_t *restrict middle,        \
                               const uint8_t *restrict bottom, size_t width,                       \
                               int16_t *restrict sums, int16_t *restrict differences)              \
    {                                                                                              \
        for (size_t x = 0; x < width; x++) {                                                       \
            sums[x] = (int16_t)((side) * (top[x] + bottom[x]) + (centre)*middle[x]);               \
            differences[x] = (int16_t)(bottom[x] - top[x]);                                        \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void columns_##operator(const uint8_t *const *rows, size_t width,                       \
                                   int16_t *restrict sums, int16_t *restrict differences)          \
    {                                                                                              \
        add_##operator(rows[0], rows[1], rows[2], width, sums, differences);                       \
    }

DEFINE_COLUMNS(sobel, 1, 2)
DEFINE_COLUMNS(scharr, 3, 10)
DEFINE_COLUMNS(prewitt, 1, 1)

SIMD_CLONES
static void add_sobel5(const uint8_t *restrict a, const uint8_t *restrict b,
                       const uint8_t *restrict c, const uint8_t *restrict d,
                       const uint8_t *restrict e, size_t width, int16_t *restrict sums,
                       int16_t *restrict differences)
{
    for (size_t x = 0; x < width; x++) {
        sums[x] = (int16_t)(a[x] + e[x] + 4 * (b[x] + d[x]) + 6 * c[x]);
        differences[x] = (int16_t)(e[x] - a[x] + 2 * (d[x] - b[x]));
    }
}

static void columns_sobel5(const uint8_t *const *rows, size_t width, int16_t *restrict sums,
                           int16_t *restrict differences)
{
    add_sobel5(rows[0], rows[1], rows[2], rows[3], rows[4], width, sums, differences);
}

static const struct {
    unsigned radius;
    gradient_columns *columns;
} operators[CONFIG_OPERATOR_COUNT] = {
    [CONFIG_OPERATOR_SOBEL] = {1, columns_sobel},
    [CONFIG_OPERATOR_SOBEL5] = {2, columns_sobel5},
    [CONFIG_OPERATOR_SCHARR] = {1, columns_scharr},
    [CONFIG_OPERATOR_PREWITT] = {1, columns_prewitt},
};

static void replicate_border(int16_t *row, uint32_t width)
{
    for (int i = 0; i < MAGNITUDE_RADIUS_MAX; i++) {
        row[-1 - i] = row[0];
        row[width + (uint32_t)i] = row[width - 1];
    }
}

// Doubts are rare, so eight are looked at in one go.
static void settle(const struct magnitude_guess *guess, const uint32_t *thresholds, uint32_t width)
{
    for (uint32_t first = 0; first < width; first += sizeof(uint64_t)) {
        uint64_t doubts;

        memcpy(&doubts, guess->doubts + first, sizeof doubts);
        if (doubts == 0) {
            continue;
        }
        for (uint32_t x = first; x < first + sizeof doubts && x < width; x++) {
            unsigned next = guess->results[x] + 1U;

            if (guess->doubts[x] && guess->squares[x] >= thresholds[next]) {
                guess->results[x] = (uint8_t)next;
            }
        }
    }
}

// The rows that lie in the scratch memory.
struct gradient_row {
    int16_t *sums, *differences;
    struct magnitude_guess guess;
};

static struct gradient_row measure_columns(const struct gradient *gradient,
                                           const uint8_t *const *rows, uint32_t width,
                                           void *scratch, uint8_t *output)
{
    size_t elements = row_elements(width);
    uint32_t *squares = scratch;
    int16_t *sums = (int16_t *)(squares + elements) + LEFT, *differences = sums + elements;

    gradient->columns(rows, width, sums, differences);
    replicate_border(sums, width);
    replicate_border(differences, width);
    return (struct gradient_row){
        sums, differences, {squares, output, (uint8_t *)(differences - LEFT + elements)}};
}

struct magnitude_columns gradient_measure(const struct gradient *gradient,
                                          const uint8_t *const *rows, uint32_t width, void *scratch,
                                          uint8_t *output)
{
    struct gradient_row row = measure_columns(gradient, rows, width, scratch, output);

    if (gradient->magnitude) {
        gradient->magnitude(row.sums, row.differences, width, output);
    } else if (gradient->scale_l1) {
        gradient->scale_l1(row.sums, row.differences, width, gradient->gain, output);
    } else {
        gradient->scale_l2(row.sums, row.differences, width, (float)gradient->gain, row.guess);
        settle(&row.guess, gradient->thresholds, width);
    }
    return (struct magnitude_columns){row.sums, row.differences};
}

static void run_rows(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                     unsigned count, uint32_t width, void *scratch, uint8_t *const *outputs)
{
    const struct gradient *gradient = stage->state;

    (void)y;
    if (gradient->sobel) {
        gradient->sobel(rows, count, width, outputs);
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        gradient_measure(gradient, rows + i, width, scratch, outputs[i]);
    }
}

static void run_row_limited(const struct gradient *gradient, const uint8_t *const *rows,
                            uint32_t width, void *scratch, uint8_t *output)
{
    if (gradient->limited) {
        struct gradient_row row = measure_columns(gradient, rows, width, scratch, output);

        gradient->limited(row.sums, row.differences, width, output);
    } else {
        gradient_measure(gradient, rows, width, scratch, output);
        compose_in_place(output, width);
    }
}

static void run_rows_limited(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                             unsigned count, uint32_t width, void *scratch, uint8_t *const *outputs)
{
    const struct gradient *gradient = stage->state;

    (void)y;
    if (gradient->sobel) {
        gradient->sobel_limited(rows, count, width, outputs);
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        run_row_limited(gradient, rows + i, width, scratch, outputs[i]);
    }
}

uint8_t gradient_result(enum config_norm norm, double gain, uint32_t n)
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

        if (gradient_result(norm, gain, middle) >= result) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low > reach ? UINT32_MAX : low;
}

void gradient_thresholds(enum config_norm norm, double gain, uint32_t ret_thresholds[256])
{
    for (unsigned i = 0; i < 256; i++) {
        ret_thresholds[i] = threshold(norm, gain, i);
    }
}

unsigned gradient_radius(enum config_operator operator)
{
    return operators[operator].radius;
}

static void set_sobel(struct gradient *gradient, const struct stage_options *options)
{
    const struct sobel_version *version = sobel_version_best();

    if (version && options->operator== CONFIG_OPERATOR_SOBEL) {
        gradient->sobel = version->full[options->norm];
        gradient->sobel_limited = version->limited[options->norm];
    }
}

void gradient_set(struct gradient *gradient, const struct stage_options *options)
{
    gradient->columns = operators[options->operator].columns;
    gradient->gain = options->gain;
    if (options->gain == 1.0) {
        const struct magnitude_version *version = magnitude_version_best();

        gradient->magnitude = version->full[options->norm][options->operator];
        gradient->limited = version->limited[options->norm][options->operator];
        set_sobel(gradient, options);
    } else if (options->norm == CONFIG_NORM_L1) {
        gradient->scale_l1 = magnitude_scale_l1_for(options->operator);
    } else {
        gradient->scale_l2 = magnitude_scale_l2_for(options->operator);
        gradient_thresholds(options->norm, options->gain, gradient->thresholds);
    }
}

static int init(struct stage *stage, const struct stage_setup *setup, struct error *error)
{
    (void)error;
    stage->radius = gradient_radius(setup->options->operator);
    stage->scratch_bytes = gradient_scratch_bytes(setup->input->width);
    stage->run_rows = run_rows;
    gradient_set(stage->state, setup->options);
    return 0;
}

static void limit(struct stage *copy)
{
    copy->run_rows = run_rows_limited;
}

const struct stage_ops gradient_ops = {
    .state_bytes = sizeof(struct gradient),
    .init = init,
    .limit = limit,
};
