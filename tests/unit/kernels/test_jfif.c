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

// The mean of the square at (x, y) of a plane of `columns` x `rows` samples.
static double mean(const struct frame *frame, unsigned plane, unsigned offset, uint32_t x,
                   uint32_t y, unsigned shift)
{
    unsigned step = plane ? 2 : 1, side = 1U << shift, sum = 0;
    uint32_t columns = frame->layout.planes[plane].width_bytes / step;
    uint32_t rows = frame->layout.planes[plane].rows;

    for (unsigned i = 0; i < side * side; i++) {
        uint32_t column = x * side + i % side, row = y * side + i / side;

        column = column < columns ? column : columns - 1;
        row = row < rows ? row : rows - 1;
        sum += frame_plane(
            frame, plane)[row * frame->layout.planes[plane].stride + column * step + offset];
    }
    return floor(sum / (double)(side * side) + 0.5);
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

static void check(uint32_t width, uint32_t height, enum frame_range range, uint32_t matrix,
                  double kr, double kb, unsigned shift)
{
    struct frame *frame = make_picture(width, height, range, matrix);
    struct frame_layout layout;

    jfif_layout(&frame->layout, shift, &layout);
    assert_int_equal(layout.width, width >> shift > 0 ? width >> shift : 1);
    assert_int_equal(layout.height, height >> shift > 0 ? height >> shift : 1);
    uint8_t *planes = malloc(layout.size);
    jfif_convert(frame, shift, &layout, planes);
    for (uint32_t y = 0; y < layout.height; y++) {
        for (uint32_t x = 0; x < layout.width; x++) {
            const double in[3] = {mean(frame, 0, 0, x, y, shift),
                                  mean(frame, 1, 0, x / 2, y / 2, shift),
                                  mean(frame, 1, 1, x / 2, y / 2, shift)};
            double out[3];

            change(&frame->layout, kr, kb, in, out);
            assert_rounds(out[0], planes[y * layout.planes[0].stride + x]);
            for (unsigned i = 1; i < 3; i++) {
                assert_rounds(
                    out[i],
                    planes[layout.planes[i].offset + y / 2 * layout.planes[i].stride + x / 2]);
            }
        }
    }
    free(planes);
    frame_unref(frame);
}

TEST(test_every_matrix_range_and_size_becomes_that_of_jpeg)
{
    static const struct {
        uint32_t number;
        double kr, kb;
    } matrices[] = {{2, 0.299, 0.114}, {1, 0.2126, 0.0722}, {4, 0.30, 0.11},
                    {6, 0.299, 0.114}, {7, 0.212, 0.087},   {9, 0.2627, 0.0593}};
    static const uint32_t sizes[][2] = {{64, 48}, {67, 45}, {9, 7}, {3, 2}, {1, 1}};

    srand(random_seed());
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++) {
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            for (unsigned shift = 0; shift <= JFIF_SHIFT_MAX; shift++) {
                for (unsigned full = 0; full < 2; full++) {
                    check(sizes[k][0], sizes[k][1], full ? FRAME_RANGE_FULL : FRAME_RANGE_LIMITED,
                          matrices[i].number, matrices[i].kr, matrices[i].kb, shift);
                }
            }
        }
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
