// The table against the V4L2 and GStreamer documentation of each format, worked by hand.
#include "tests/unit/unit.h"

#include "capture/frame.h"

#include <linux/videodev2.h>
#include <string.h>

struct expectation {
    const char *name, *gst_name;
    uint32_t fourcc;
    unsigned planes;
    size_t size_6x4, size_5x3, size_1x1; // bytes with tight rows
    enum frame_range range;
};

static const struct expectation expectations[] = {
    {"YUYV", "YUY2", V4L2_PIX_FMT_YUYV, 1, 48, 36, 4, FRAME_RANGE_LIMITED},
    {"UYVY", "UYVY", V4L2_PIX_FMT_UYVY, 1, 48, 36, 4, FRAME_RANGE_LIMITED},
    {"NV12", "NV12", V4L2_PIX_FMT_NV12, 2, 36, 27, 3, FRAME_RANGE_LIMITED},
    {"NV21", "NV21", V4L2_PIX_FMT_NV21, 2, 36, 27, 3, FRAME_RANGE_LIMITED},
    {"YU12", "I420", V4L2_PIX_FMT_YUV420, 3, 36, 27, 3, FRAME_RANGE_LIMITED},
    {"422P", "Y42B", V4L2_PIX_FMT_YUV422P, 3, 48, 33, 3, FRAME_RANGE_LIMITED},
    {"444P", "Y444", v4l2_fourcc('4', '4', '4', 'P'), 3, 72, 45, 3, FRAME_RANGE_LIMITED},
    {"GREY", "GRAY8", V4L2_PIX_FMT_GREY, 1, 24, 15, 1, FRAME_RANGE_FULL},
    {"RGB3", "RGB", V4L2_PIX_FMT_RGB24, 1, 72, 45, 3, FRAME_RANGE_FULL},
    {"BGR3", "BGR", V4L2_PIX_FMT_BGR24, 1, 72, 45, 3, FRAME_RANGE_FULL},
    {"XR24", "BGRx", V4L2_PIX_FMT_XBGR32, 1, 96, 60, 4, FRAME_RANGE_FULL},
};

#define EXPECTATIONS (sizeof expectations / sizeof expectations[0])

TEST(test_each_format_is_found_by_each_of_its_names)
{
    for (size_t i = 0; i < EXPECTATIONS; i++) {
        const struct expectation *expect = &expectations[i];
        const struct pixel_format *format = pixel_format_by_name(expect->name);

        assert_non_null(format);
        assert_string_equal(format->name, expect->name);
        assert_ptr_equal(format, pixel_format_by_fourcc(expect->fourcc));
        assert_ptr_equal(format, pixel_format_picture_by_name(expect->name));
        assert_ptr_equal(format, pixel_format_by_gst_name(expect->gst_name));
        assert_int_equal(format->plane_count, expect->planes);
    }
}

TEST(test_the_table_ends_after_the_known_formats)
{
    assert_non_null(pixel_format_at(EXPECTATIONS - 1));
    assert_null(pixel_format_at(EXPECTATIONS));
    assert_null(pixel_format_at(SIZE_MAX));
}

TEST(test_unknown_names_are_not_found)
{
    assert_null(pixel_format_by_name("MJPG"));
    assert_null(pixel_format_by_name(""));
    assert_null(pixel_format_by_fourcc(V4L2_PIX_FMT_MJPEG));
    assert_null(pixel_format_by_gst_name("P010_10LE"));
}

TEST(test_sizes_are_those_worked_by_hand)
{
    for (size_t i = 0; i < EXPECTATIONS; i++) {
        const struct expectation *expect = &expectations[i];
        const struct pixel_format *format = pixel_format_by_name(expect->name);
        struct frame_layout layout;

        frame_layout_init(&layout, format, 6, 4, 1);
        assert_int_equal(layout.size, expect->size_6x4);
        frame_layout_init(&layout, format, 5, 3, 1);
        assert_int_equal(layout.size, expect->size_5x3);
        frame_layout_init(&layout, format, 1, 1, 1);
        assert_int_equal(layout.size, expect->size_1x1);
        assert_int_equal(layout.range, expect->range);
    }
}

TEST(test_strides_are_rounded_up_and_planes_follow_each_other)
{
    struct frame_layout layout;

    frame_layout_init(&layout, pixel_format_by_name("NV12"), 70, 5, 64);
    assert_int_equal(layout.planes[0].stride, 128);
    assert_int_equal(layout.planes[0].width_bytes, 70);
    assert_int_equal(layout.planes[0].rows, 5);
    assert_int_equal(layout.planes[1].offset, 640);
    assert_int_equal(layout.planes[1].stride, 128);
    assert_int_equal(layout.planes[1].width_bytes, 70);
    assert_int_equal(layout.planes[1].rows, 3);
    assert_int_equal(layout.size, 1024);
}

// The byte positions of Y0 and Y1 in the first macropixel, from the V4L2 documentation.
TEST(test_luma_is_where_the_formats_say)
{
    assert_int_equal(pixel_format_by_name("YUYV")->luma_offset, 0);
    assert_int_equal(pixel_format_by_name("YUYV")->luma_step, 2);
    assert_int_equal(pixel_format_by_name("UYVY")->luma_offset, 1);
    assert_int_equal(pixel_format_by_name("UYVY")->luma_step, 2);
    assert_int_equal(pixel_format_by_name("NV12")->luma_step, 1);
    assert_int_equal(pixel_format_by_name("GREY")->luma_step, 1);
    assert_int_equal(pixel_format_by_name("RGB3")->luma_step, 0);
}

// The first row of RGGB, GRBG, GBRG and BGGR in V4L2's documentation tells where red is.
TEST(test_each_mosaic_is_found_by_its_name_and_its_fourcc)
{
    static const struct {
        const char *name;
        uint32_t fourcc;
        unsigned bits;
        bool packed;
        size_t size_6x4, size_5x3;
        unsigned red_x, red_y;
    } mosaics[] = {
        {"RGGB", V4L2_PIX_FMT_SRGGB8, 8, false, 24, 15, 0, 0},
        {"GRBG", V4L2_PIX_FMT_SGRBG8, 8, false, 24, 15, 1, 0},
        {"GBRG", V4L2_PIX_FMT_SGBRG8, 8, false, 24, 15, 0, 1},
        {"BA81", V4L2_PIX_FMT_SBGGR8, 8, false, 24, 15, 1, 1},
        {"RG10", V4L2_PIX_FMT_SRGGB10, 10, false, 48, 30, 0, 0},
        {"BA10", V4L2_PIX_FMT_SGRBG10, 10, false, 48, 30, 1, 0},
        {"GB10", V4L2_PIX_FMT_SGBRG10, 10, false, 48, 30, 0, 1},
        {"BG10", V4L2_PIX_FMT_SBGGR10, 10, false, 48, 30, 1, 1},
        {"pRAA", V4L2_PIX_FMT_SRGGB10P, 10, true, 40, 30, 0, 0},
        {"pgAA", V4L2_PIX_FMT_SGRBG10P, 10, true, 40, 30, 1, 0},
        {"pGAA", V4L2_PIX_FMT_SGBRG10P, 10, true, 40, 30, 0, 1},
        {"pBAA", V4L2_PIX_FMT_SBGGR10P, 10, true, 40, 30, 1, 1},
        {"RG12", V4L2_PIX_FMT_SRGGB12, 12, false, 48, 30, 0, 0},
        {"BA12", V4L2_PIX_FMT_SGRBG12, 12, false, 48, 30, 1, 0},
        {"GB12", V4L2_PIX_FMT_SGBRG12, 12, false, 48, 30, 0, 1},
        {"BG12", V4L2_PIX_FMT_SBGGR12, 12, false, 48, 30, 1, 1},
        {"pRCC", V4L2_PIX_FMT_SRGGB12P, 12, true, 36, 27, 0, 0},
        {"pgCC", V4L2_PIX_FMT_SGRBG12P, 12, true, 36, 27, 1, 0},
        {"pGCC", V4L2_PIX_FMT_SGBRG12P, 12, true, 36, 27, 0, 1},
        {"pBCC", V4L2_PIX_FMT_SBGGR12P, 12, true, 36, 27, 1, 1},
        {"RG16", V4L2_PIX_FMT_SRGGB16, 16, false, 48, 30, 0, 0},
        {"GR16", V4L2_PIX_FMT_SGRBG16, 16, false, 48, 30, 1, 0},
        {"GB16", V4L2_PIX_FMT_SGBRG16, 16, false, 48, 30, 0, 1},
        {"BYR2", V4L2_PIX_FMT_SBGGR16, 16, false, 48, 30, 1, 1},
    };

    for (size_t i = 0; i < sizeof mosaics / sizeof mosaics[0]; i++) {
        const struct pixel_format *format = pixel_format_by_name(mosaics[i].name);
        struct frame_layout layout;

        assert_non_null(format);
        assert_ptr_equal(format, pixel_format_by_fourcc(mosaics[i].fourcc));
        assert_null(format->gst_name);
        assert_null(pixel_format_picture_by_name(mosaics[i].name));
        assert_int_equal(format->mosaic.bits, mosaics[i].bits);
        assert_int_equal(format->mosaic.packed, mosaics[i].packed);
        assert_int_equal(format->mosaic.red_x, mosaics[i].red_x);
        assert_int_equal(format->mosaic.red_y, mosaics[i].red_y);
        frame_layout_init(&layout, format, 6, 4, 1);
        assert_int_equal(layout.size, mosaics[i].size_6x4);
        frame_layout_init(&layout, format, 5, 3, 1);
        assert_int_equal(layout.size, mosaics[i].size_5x3);
        assert_int_equal(layout.range, FRAME_RANGE_FULL);
    }
}

TEST(test_layouts_differ_where_their_mosaics_are_developed_otherwise)
{
    struct frame_layout a, b;

    frame_layout_init(&a, pixel_format_by_name("RG10"), 6, 4, 1);
    b = a;
    assert_true(frame_layout_equal(&a, &b));
    b.development.black = 1;
    assert_false(frame_layout_equal(&a, &b));
    b = a;
    b.development.blue = 1.5;
    assert_false(frame_layout_equal(&a, &b));
}

RUN_TESTS(NULL, NULL)
