// The samples of a JPEG, beside the formulas of H.273 and JFIF in double precision: all ranges and
// matrices, odd sizes, and smaller pictures whose last squares are not whole.
#include "capture/frame_pool.h"
#include "kernels/convert/jfif.h"
#include "tests/unit/unit.h"

#include <math.h>

static struct frame *make_picture(uint32_t width, uint32_t height, enum frame_range range,
                                  uint32_t matrix)
{
    struct frame_layout layout;
    struct frame_pool *pool;
    struct frame *frame;

    frame_layout_init(&layout, pixel_format_by_name("NV12"), width, height, FRAME_STRIDE_ALIGN);
    layout.range = range;
    layout.colour.matrix = matrix;
    assert_int_equal(frame_pool_new(&layout, 1, frame_allocator_host(), &pool), 0);
    frame = frame_pool_take(pool);
    frame_pool_unref(pool);
    for (size_t i = 0; i < frame->layout.size; i++)
        frame->data[i] = (uint8_t)rand();
    return frame;
}

// A size that a picture gets: 1 of `1 << shift` columns and rows, or with `boxes` any smaller one.
struct smaller {
    unsigned shift;
    bool boxes;
    uint32_t width, height;
};

static void span(const struct smaller *to, uint32_t at, uint32_t size, uint32_t count,
                 uint32_t *ret_first, uint32_t *ret_end)
{
    *ret_first = to->boxes ? (uint32_t)floor((double)at * size / count) : at << to->shift;
    *ret_end = to->boxes ? (uint32_t)floor((double)(at + 1) * size / count) : (at + 1) << to->shift;
}

// The mean of what becomes the sample at (x, y) of a smaller plane.
static double mean(const struct frame *frame, unsigned plane, unsigned offset, uint32_t x,
                   uint32_t y, const struct smaller *to)
{
    unsigned step = plane ? 2 : 1, sum = 0, count = 0;
    uint32_t columns = frame->layout.planes[plane].width_bytes / step;
    uint32_t rows = frame->layout.planes[plane].rows;
    uint32_t first_column, end_column, first_row, end_row;

    span(to, x, columns, (to->width + step - 1) / step, &first_column, &end_column);
    span(to, y, rows, (to->height + step - 1) / step, &first_row, &end_row);
    for (uint32_t row = first_row; row < end_row; row++) {
        for (uint32_t column = first_column; column < end_column; column++, count++) {
            uint32_t from_row = row < rows ? row : rows - 1;
            uint32_t from_column = column < columns ? column : columns - 1;

            sum += frame_plane(
                frame,
                plane)[from_row * frame->layout.planes[plane].stride + from_column * step + offset];
        }
    }
    return floor(sum / (double)count + 0.5);
}

// By way of R'G'B', without limits in between.
static void change(const struct frame_layout *layout, double kr, double kb, const double in[3],
                   double out[3])
{
    bool full = layout->range == FRAME_RANGE_FULL;
    double y = full ? in[0] : (in[0] - 16) * 255 / 219;
    double u = (in[1] - 128) * (full ? 1 : 255.0 / 224),
           v = (in[2] - 128) * (full ? 1 : 255.0 / 224);
    double r = y + (2 - 2 * kr) * v, b = y + (2 - 2 * kb) * u;
    double g = (y - kr * r - kb * b) / (1 - kr - kb);

    out[0] = 0.299 * r + 0.587 * g + 0.114 * b;
    out[1] = 128 + (b - out[0]) / 1.772;
    out[2] = 128 + (r - out[0]) / 1.402;
}

// Of 16 bits a factor and 24 bits a sum not more than this is left over.
static void assert_rounds(double exact, uint8_t got)
{
    double limited = exact < 0 ? 0 : exact > 255 ? 255 : exact;

    assert_true(fabs(limited - got) <= 0.51);
}

// A matrix of H.273 by its number.
struct matrix {
    uint32_t number;
    double kr, kb;
};

static void compare(const struct frame *frame, const struct matrix *matrix,
                    const struct smaller *to, const struct frame_layout *layout,
                    const uint8_t *planes)
{
    for (uint32_t y = 0; y < to->height; y++) {
        for (uint32_t x = 0; x < to->width; x++) {
            const double in[3] = {mean(frame, 0, 0, x, y, to), mean(frame, 1, 0, x / 2, y / 2, to),
                                  mean(frame, 1, 1, x / 2, y / 2, to)};
            double out[3];

            change(&frame->layout, matrix->kr, matrix->kb, in, out);
            assert_rounds(out[0], planes[y * layout->planes[0].stride + x]);
            for (unsigned i = 1; i < 3; i++) {
                assert_rounds(
                    out[i],
                    planes[layout->planes[i].offset + y / 2 * layout->planes[i].stride + x / 2]);
            }
        }
    }
}

static void check(uint32_t width, uint32_t height, enum frame_range range,
                  const struct matrix *matrix, unsigned shift)
{
    struct frame *frame = make_picture(width, height, range, matrix->number);
    const struct smaller to = {.shift = shift,
                               .width = width >> shift > 0 ? width >> shift : 1,
                               .height = height >> shift > 0 ? height >> shift : 1};
    struct frame_layout layout;

    jfif_layout(&frame->layout, shift, &layout);
    assert_int_equal(layout.width, to.width);
    assert_int_equal(layout.height, to.height);
    uint8_t *planes = malloc(layout.size);
    jfif_convert(frame, shift, &layout, planes);
    compare(frame, matrix, &to, &layout, planes);
    free(planes);
    frame_unref(frame);
}

TEST(test_every_matrix_range_and_size_becomes_that_of_jpeg)
{
    static const struct matrix matrices[] = {{2, 0.299, 0.114}, {1, 0.2126, 0.0722},
                                             {4, 0.30, 0.11},   {6, 0.299, 0.114},
                                             {7, 0.212, 0.087}, {9, 0.2627, 0.0593}};
    static const uint32_t sizes[][2] = {{64, 48}, {67, 45}, {9, 7}, {3, 2}, {1, 1}};

    srand(random_seed());
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++) {
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            for (unsigned shift = 0; shift <= JFIF_SHIFT_MAX; shift++) {
                for (unsigned full = 0; full < 2; full++) {
                    check(sizes[k][0], sizes[k][1], full ? FRAME_RANGE_FULL : FRAME_RANGE_LIMITED,
                          &matrices[i], shift);
                }
            }
        }
    }
}

TEST(test_a_picture_of_a_width_keeps_its_aspect_and_has_the_means_of_boxes)
{
    static const struct {
        uint32_t width, height, to_width, expected_height;
    } cases[] = {{1920, 1080, 320, 180}, {1920, 1080, 640, 360}, {1280, 720, 160, 90},
                 {640, 480, 320, 240},   {720, 404, 320, 180},   {1023, 77, 160, 12},
                 {162, 120, 160, 118},   {161, 3, 160, 2},       {400, 1, 160, 1},
                 {8192, 2, 160, 2},      {162, 4000, 160, 3950}};
    static const struct matrix bt709 = {1, 0.2126, 0.0722};

    srand(random_seed());
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct smaller to = {
            .boxes = true, .width = cases[i].to_width, .height = cases[i].expected_height};
        struct frame *frame =
            make_picture(cases[i].width, cases[i].height, FRAME_RANGE_LIMITED, bt709.number);
        struct frame_layout layout;

        jfif_layout_of_width(&frame->layout, to.width, &layout);
        assert_int_equal(layout.width, to.width);
        assert_int_equal(layout.height, to.height);
        uint8_t *planes = malloc(layout.size);
        uint16_t *sums = malloc(cases[i].width * sizeof *sums);
        jfif_shrink(frame, &layout, sums, planes);
        compare(frame, &bt709, &to, &layout, planes);
        free(sums);
        free(planes);
        frame_unref(frame);
    }
}

// The brightest picture and the most rows for a sample: the sums are as large as they get.
TEST(test_the_largest_picture_stays_as_bright_as_it_is)
{
    struct frame *frame = make_picture(8192, 8192, FRAME_RANGE_FULL, COLOUR_BT709);
    struct frame_layout layout;

    memset(frame->data, 255, frame->layout.size);
    memset(frame_plane(frame, 1), 128, frame->layout.size - frame->layout.planes[1].offset);
    jfif_layout_of_width(&frame->layout, JFIF_WIDTH_MIN, &layout);
    uint8_t *planes = malloc(layout.size);
    uint16_t *sums = malloc(8192 * sizeof *sums);
    jfif_shrink(frame, &layout, sums, planes);
    for (uint32_t i = 0; i < layout.width * layout.height; i++)
        assert_int_equal(planes[i / 160 * layout.planes[0].stride + i % 160], 255);
    free(sums);
    free(planes);
    frame_unref(frame);
}

TEST(test_a_picture_that_is_not_wider_stays_whole)
{
    static const uint32_t sizes[][2] = {{320, 240}, {319, 7}, {1, 1}};
    struct frame_layout layout, picture;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        frame_layout_init(&picture, pixel_format_by_name("NV12"), sizes[i][0], sizes[i][1],
                          FRAME_STRIDE_ALIGN);
        jfif_layout_of_width(&picture, 320, &layout);
        assert_int_equal(layout.width, sizes[i][0]);
        assert_int_equal(layout.height, sizes[i][1]);
    }
}

TEST(test_gray_stays_gray_and_full_range_as_it_is)
{
    struct frame *frame = make_picture(256, 2, FRAME_RANGE_FULL, COLOUR_BT709);
    struct frame_layout layout;

    for (unsigned i = 0; i < 256; i++)
        frame->data[i] = (uint8_t)i;
    memset(frame_plane(frame, 1), 128, 256);
    jfif_layout(&frame->layout, 0, &layout);
    uint8_t *planes = malloc(layout.size);
    jfif_convert(frame, 0, &layout, planes);
    assert_memory_equal(planes, frame->data, 256);
    for (unsigned i = 0; i < 128; i++) {
        assert_int_equal(planes[layout.planes[1].offset + i], 128);
        assert_int_equal(planes[layout.planes[2].offset + i], 128);
    }
    free(planes);
    frame_unref(frame);
}

RUN_TESTS(NULL, NULL)
