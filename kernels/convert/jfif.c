// Two steps over each pair of rows: the samples of the smaller picture are written to the planes,
// and then changed there while they are in the cache.

#include "kernels/convert/jfif.h"

#include "kernels/convert/colour.h"
#include "kernels/stage/simd.h"

#include <math.h>
#include <string.h>

#define BITS 16
#define HALF (1 << (BITS - 1))

// The factors of jfif.h, with l and c in them.
struct factors {
    int32_t black, luma, yu, yv, uu, uv, vu, vv;
};

static uint32_t shrink(uint32_t pixels, unsigned shift)
{
    return pixels >> shift > 0 ? pixels >> shift : 1;
}

void jfif_layout(const struct frame_layout *picture, unsigned shift,
                 struct frame_layout *ret_layout)
{
    frame_layout_init(ret_layout, pixel_format_by_name("YU12"), shrink(picture->width, shift),
                      shrink(picture->height, shift), FRAME_STRIDE_ALIGN);
}

void jfif_layout_of_width(const struct frame_layout *picture, uint32_t width,
                          struct frame_layout *ret_layout)
{
    uint64_t pairs = ((uint64_t)picture->height * width + picture->width) / (2 * picture->width);
    uint32_t height = pairs > 1 ? 2 * (uint32_t)pairs : 2;

    if (width >= picture->width) {
        jfif_layout(picture, 0, ret_layout);
        return;
    }
    height = height < picture->height ? height : picture->height;
    frame_layout_init(ret_layout, pixel_format_by_name("YU12"), width, height, FRAME_STRIDE_ALIGN);
}

static int32_t fixed(double factor)
{
    return (int32_t)lrint(ldexp(factor, BITS));
}

// By way of R'G'B': what of U alone, and of V alone, is in it, as BT.601 weighs it.
static struct factors factors_of(const struct frame_layout *picture)
{
    const double red = 0.299, blue = 0.114, green = 1 - red - blue;
    const struct colour_weights from = colour_weights_of(picture->colour.matrix);
    bool full = picture->range == FRAME_RANGE_FULL;
    double c = full ? 1 : 255.0 / 224, from_green = 1 - from.red - from.blue;
    double b_of_u = 2 - 2 * from.blue, g_of_u = -b_of_u * from.blue / from_green;
    double r_of_v = 2 - 2 * from.red, g_of_v = -r_of_v * from.red / from_green;
    double yu = green * g_of_u + blue * b_of_u, yv = red * r_of_v + green * g_of_v;

    return (struct factors){.black = full ? 0 : 16,
                            .luma = fixed(full ? 1 : 255.0 / 219),
                            .yu = fixed(c * yu),
                            .yv = fixed(c * yv),
                            .uu = fixed(c * (b_of_u - yu) / (2 - 2 * blue)),
                            .uv = fixed(c * -yv / (2 - 2 * blue)),
                            .vu = fixed(c * -yu / (2 - 2 * red)),
                            .vv = fixed(c * (r_of_v - yv) / (2 - 2 * red))};
}

// Samples
// ---------------------------------------------------------------------

// Samples of one kind in a plane: `step` bytes from each to the next in its row.
struct samples {
    const uint8_t *first;
    size_t stride;
    uint32_t step, columns, rows;
};

static struct samples samples_of(const struct frame *picture, unsigned plane, unsigned offset)
{
    const struct frame_layout *layout = &picture->layout;
    uint32_t step = plane ? 2 : 1;

    return (struct samples){.first = frame_plane(picture, plane) + offset,
                            .stride = layout->planes[plane].stride,
                            .step = step,
                            .columns = layout->planes[plane].width_bytes / step,
                            .rows = layout->planes[plane].rows};
}

static const uint8_t *row_of(const struct samples *samples, uint32_t row)
{
    return samples->first + (row < samples->rows ? row : samples->rows - 1) * samples->stride;
}

// Means of squares whose side is 1 << shift, side by side; `rows` are those that they lie in.
SIMD_INLINE void average(const uint8_t *const *rows, size_t step, unsigned shift, size_t count,
                         uint8_t *restrict output)
{
    const unsigned side = 1U << shift;

    for (size_t x = 0; x < count; x++) {
        unsigned sum = side * side / 2;

        for (unsigned i = 0; i < side; i++) {
            for (unsigned k = 0; k < side; k++)
                sum += rows[i][((x << shift) + k) * step];
        }
        output[x] = (uint8_t)(sum >> 2 * shift);
    }
}

#define AVERAGE_CASE(step, shift)                                                                  \
    case 2 * (shift) + (step):                                                                     \
        average(rows, step, shift, count, output);                                                 \
        break

// A case for each, so that the compiler knows the distances. Luma of the whole picture is copied.
SIMD_CLONES
static void average_whole(const uint8_t *const *rows, unsigned step, unsigned shift, size_t count,
                          uint8_t *restrict output)
{
    switch (2 * shift + step) {
        AVERAGE_CASE(2, 0);
        AVERAGE_CASE(1, 1);
        AVERAGE_CASE(2, 1);
        AVERAGE_CASE(1, 2);
        AVERAGE_CASE(2, 2);
        AVERAGE_CASE(1, 3);
        AVERAGE_CASE(2, 3);
    }
}

// The mean of a square that may reach beyond the last column.
static uint8_t average_last(const struct samples *samples, const uint8_t *const *rows,
                            unsigned shift, uint32_t x)
{
    const unsigned side = 1U << shift;
    unsigned sum = side * side / 2;

    for (unsigned i = 0; i < side; i++) {
        for (unsigned k = 0; k < side; k++) {
            uint32_t column = (x << shift) + k;

            sum += rows[i][(column < samples->columns ? column : samples->columns - 1) *
                           samples->step];
        }
    }
    return (uint8_t)(sum >> 2 * shift);
}

// Row `y` of the smaller plane, `width` samples.
static void take_squares(const struct samples *samples, unsigned shift, uint32_t y, uint32_t width,
                         uint8_t *output)
{
    const uint8_t *rows[1 << JFIF_SHIFT_MAX];
    uint32_t whole = samples->columns >> shift;

    for (uint32_t i = 0; i < 1U << shift; i++)
        rows[i] = row_of(samples, (y << shift) + i);
    whole = whole < width ? whole : width;
    if (shift == 0 && samples->step == 1)
        memcpy(output, rows[0], whole);
    else
        average_whole(rows, samples->step, shift, whole, output);
    for (uint32_t x = whole; x < width; x++)
        output[x] = average_last(samples, rows, shift, x);
}

// Means of boxes, where the picture is not cut into squares
// ---------------------------------------------------------------------

// Cuts `size` samples into `count` boxes, whose lengths differ by 1 at most: box i begins at
// floor(i size / count).
struct cut {
    uint32_t size, count;
    uint32_t at, rest; // where the next box begins, and the numerator of what was rounded off
};

static uint32_t cut_next(struct cut *cut)
{
    cut->at += cut->size / cut->count;
    cut->rest += cut->size % cut->count;
    if (cut->rest >= cut->count) {
        cut->rest -= cut->count;
        cut->at++;
    }
    return cut->at;
}

static uint32_t cut_at(uint32_t index, uint32_t size, uint32_t count)
{
    return (uint32_t)((uint64_t)index * size / count);
}

SIMD_CLONES
static void add_row(const uint8_t *restrict row, unsigned step, size_t count,
                    uint16_t *restrict sums)
{
    if (step == 1) {
        for (size_t x = 0; x < count; x++)
            sums[x] = (uint16_t)(sums[x] + row[x]);
    } else {
        for (size_t x = 0; x < count; x++)
            sums[x] = (uint16_t)(sums[x] + row[2 * x]);
    }
}

// 1 / samples in 40 bits, rounded up: exact for sums of up to 2^16 samples of 8 bits.
static uint64_t reciprocal(uint32_t samples)
{
    return ((UINT64_C(1) << 40) + samples - 1) / samples;
}

// Row `y` of `rows` of the smaller plane, `width` samples.
static void take_boxes(const struct samples *samples, uint16_t *sums, uint32_t y, uint32_t rows,
                       uint32_t width, uint8_t *output)
{
    uint32_t first = cut_at(y, samples->rows, rows), last = cut_at(y + 1, samples->rows, rows);
    uint32_t height = last - first, shorter = samples->columns / width;
    const uint64_t share[] = {reciprocal(height * shorter), reciprocal(height * (shorter + 1))};
    struct cut cut = {.size = samples->columns, .count = width};

    memset(sums, 0, samples->columns * sizeof *sums);
    for (uint32_t row = first; row < last; row++)
        add_row(row_of(samples, row), samples->step, samples->columns, sums);
    for (uint32_t x = 0; x < width; x++) {
        uint32_t at = cut.at, length = cut_next(&cut) - at;
        uint32_t sum = height * length / 2;

        for (uint32_t i = 0; i < length; i++)
            sum += sums[at + i];
        output[x] = (uint8_t)(sum * share[length - shorter] >> 40);
    }
}

// Values
// ---------------------------------------------------------------------

SIMD_INLINE uint8_t limit(int32_t value)
{
    value >>= BITS;
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

SIMD_INLINE int32_t luma_base(const struct factors *f, uint8_t u, uint8_t v)
{
    return f->yu * (u - 128) + f->yv * (v - 128) - f->luma * f->black + HALF;
}

// A row of luma, in place, with the chroma that belongs to it.
SIMD_CLONES
static void change_luma(const struct factors *factors, const uint8_t *restrict u,
                        const uint8_t *restrict v, size_t width, uint8_t *restrict luma)
{
    const struct factors f = *factors;

    for (size_t x = 0; x < width / 2; x++) {
        int32_t base = luma_base(&f, u[x], v[x]);

        luma[2 * x] = limit(f.luma * luma[2 * x] + base);
        luma[2 * x + 1] = limit(f.luma * luma[2 * x + 1] + base);
    }
    if (width % 2 == 1) {
        luma[width - 1] =
            limit(f.luma * luma[width - 1] + luma_base(&f, u[width / 2], v[width / 2]));
    }
}

// A row of chroma, in place.
SIMD_CLONES
static void change_chroma(const struct factors *factors, size_t width, uint8_t *restrict u,
                          uint8_t *restrict v)
{
    const struct factors f = *factors;
    const int32_t middle = (128 << BITS) + HALF;

    for (size_t x = 0; x < width; x++) {
        int32_t from_u = u[x] - 128, from_v = v[x] - 128;

        u[x] = limit(f.uu * from_u + f.uv * from_v + middle);
        v[x] = limit(f.vu * from_u + f.vv * from_v + middle);
    }
}

// How the samples of a smaller picture are made: means of squares, or with `sums` of boxes.
struct reduction {
    unsigned shift;
    uint16_t *sums; // NULL: squares
};

// Row `y` of `rows` of the smaller plane, `width` samples.
static void take_row(const struct samples *samples, const struct reduction *how, uint32_t y,
                     uint32_t rows, uint32_t width, uint8_t *output)
{
    if (how->sums)
        take_boxes(samples, how->sums, y, rows, width, output);
    else
        take_squares(samples, how->shift, y, width, output);
}

static void convert(const struct frame *picture, const struct reduction *how,
                    const struct frame_layout *layout, uint8_t *planes)
{
    const struct samples y = samples_of(picture, 0, 0), u = samples_of(picture, 1, 0),
                         v = samples_of(picture, 1, 1);
    const struct factors factors = factors_of(&picture->layout);
    uint32_t pairs = layout->planes[1].width_bytes, rows = layout->planes[1].rows;

    for (uint32_t row = 0; row < rows; row++) {
        uint8_t *to_u = planes + layout->planes[1].offset + row * layout->planes[1].stride;
        uint8_t *to_v = planes + layout->planes[2].offset + row * layout->planes[2].stride;

        take_row(&u, how, row, rows, pairs, to_u);
        take_row(&v, how, row, rows, pairs, to_v);
        for (uint32_t i = 2 * row; i < 2 * row + 2 && i < layout->height; i++) {
            uint8_t *to_y = planes + i * layout->planes[0].stride;

            take_row(&y, how, i, layout->height, layout->width, to_y);
            change_luma(&factors, to_u, to_v, layout->width, to_y);
        }
        change_chroma(&factors, pairs, to_u, to_v);
    }
}

void jfif_convert(const struct frame *picture, unsigned shift, const struct frame_layout *layout,
                  uint8_t *planes)
{
    convert(picture, &(struct reduction){.shift = shift}, layout, planes);
}

void jfif_shrink(const struct frame *picture, const struct frame_layout *layout, uint16_t *sums,
                 uint8_t *planes)
{
    convert(picture, &(struct reduction){.sums = sums}, layout, planes);
}
