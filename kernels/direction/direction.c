#include "kernels/direction/direction.h"

#include "kernels/convert/colour.h"
#include "kernels/stage/simd.h"
#include "kernels/stage/stage.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

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
    for (unsigned i = 0; i < COLOUR_MATRIX_COUNT; i++) {
        make_colours_of(i, &all_colours[i]);
    }
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
    for (size_t x = 0; x < width; x++) {
        luma[x] = scale(magnitudes[x], y[directions[x]], DIRECTION_Y_BITS, 16);
    }
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

    for (unsigned i = 0; i < count; i++) {
        magnitudes[i] = next + (sizeof *directions + i) * padded(width);
    }
    if (gradient->rows) {
        gradient->rows(rows, count, width, false, magnitudes);
    }
    for (unsigned i = 0; i < count; i++) {
        const struct direction_row row = {magnitudes[i], directions};
        struct gradient_columns columns = gradient_find_columns(gradient, rows + i, width, scratch);
        struct gradient_slopes slopes;

        if (!gradient->rows) {
            gradient_measure(gradient, columns, width, scratch, magnitudes[i]);
        }
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
