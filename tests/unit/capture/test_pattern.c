// Pixels worked by hand from the definition in capture/pattern/pattern.h, for pictures of 200x120:
// C = 5 cells a row, B = 8, so the number covers the first 160 columns of the first 8 rows.
#include "tests/unit/unit.h"

#include "capture/frame_pool.h"
#include "capture/pattern/pattern.h"
#include "config/base.h"

#include <errno.h>
#include <string.h>

static const char *const formats[] = {"YUYV", "UYVY", "NV12", "NV21", "YU12", "GREY"};

struct picture {
    struct frame_pool *pool;
    struct frame *frame;
    struct pattern *pattern;
};

static struct picture new_picture(const char *format, uint32_t width, uint32_t height)
{
    struct picture picture;
    struct frame_layout layout;

    frame_layout_init(&layout, pixel_format_by_name(format), width, height, 64);
    assert_int_equal(frame_pool_new(&layout, 1, frame_allocator_host(), &picture.pool), 0);
    picture.frame = frame_pool_take(picture.pool);
    assert_int_equal(pattern_new(&layout, &picture.pattern), 0);
    return picture;
}

static void free_picture(struct picture *picture)
{
    pattern_free(picture->pattern);
    frame_unref(picture->frame);
    frame_pool_unref(picture->pool);
}

static uint8_t luma_at(const struct frame *frame, uint32_t x, uint32_t y)
{
    const uint8_t *row = frame_plane(frame, 0) + y * frame->layout.planes[0].stride;
    const char *format = frame->layout.format->name;

    if (strcmp(format, "YUYV") == 0)
        return row[2 * x];
    return strcmp(format, "UYVY") == 0 ? row[2 * x + 1] : row[x];
}

// Cb << 8 | Cr of the sample that covers pixel (x, y).
static unsigned chroma_at(const struct frame *frame, uint32_t x, uint32_t y)
{
    const char *format = frame->layout.format->name;
    const uint8_t *packed = frame_plane(frame, 0) + y * frame->layout.planes[0].stride + x / 2 * 4;
    const uint8_t *second = frame_plane(frame, 1) + y / 2 * frame->layout.planes[1].stride;
    const uint8_t *third = frame_plane(frame, 2) + y / 2 * frame->layout.planes[2].stride;

    if (strcmp(format, "YUYV") == 0)
        return (unsigned)packed[1] << 8 | packed[3];
    if (strcmp(format, "UYVY") == 0)
        return (unsigned)packed[0] << 8 | packed[2];
    if (strcmp(format, "YU12") == 0)
        return (unsigned)second[x / 2] << 8 | third[x / 2];
    second += x / 2 * 2;
    return strcmp(format, "NV12") == 0 ? (unsigned)second[0] << 8 | second[1]
                                       : (unsigned)second[1] << 8 | second[0];
}

static void assert_pixel(const struct frame *frame, uint32_t x, uint32_t y, uint8_t luma,
                         uint8_t cb, uint8_t cr)
{
    assert_int_equal(luma_at(frame, x, y), luma);
    if (strcmp(frame->layout.format->name, "GREY") != 0)
        assert_int_equal(chroma_at(frame, x, y), (unsigned)cb << 8 | cr);
}

TEST(test_the_scene_of_frame_0_has_the_worked_values)
{
    for (size_t i = 0; i < ARRAY_LENGTH(formats); i++) {
        struct picture picture = new_picture(formats[i], 200, 120);

        pattern_draw(picture.pattern, 0, picture.frame);
        assert_pixel(picture.frame, 0, 8, 40, 96, 96);
        assert_pixel(picture.frame, 39, 39, 40, 96, 96);
        assert_pixel(picture.frame, 40, 8, 136, 137, 137);
        assert_pixel(picture.frame, 80, 39, 73, 115, 114);
        assert_pixel(picture.frame, 159, 20, 169, 157, 155);
        assert_pixel(picture.frame, 0, 40, 98, 119, 116);
        assert_pixel(picture.frame, 79, 79, 81, 107, 140);
        assert_pixel(picture.frame, 199, 119, 113, 117, 157);
        free_picture(&picture);
    }
}

// Frame 3 starts 6 pixels into the scene, frame 103 too: 2 * 103 = 206 = 200 + 6.
TEST(test_the_scene_moves_two_pixels_a_frame_and_repeats)
{
    static const uint64_t numbers[] = {3, 103};

    for (size_t i = 0; i < 2 * ARRAY_LENGTH(formats); i++) {
        struct picture picture = new_picture(formats[i / 2], 200, 120);

        pattern_draw(picture.pattern, numbers[i % 2], picture.frame);
        assert_pixel(picture.frame, 33, 8, 40, 96, 96);
        assert_pixel(picture.frame, 34, 8, 136, 137, 137);
        assert_pixel(picture.frame, 73, 8, 136, 137, 137);
        assert_pixel(picture.frame, 74, 8, 73, 115, 114);
        assert_pixel(picture.frame, 193, 119, 113, 117, 157);
        assert_pixel(picture.frame, 194, 8, 40, 96, 96);
        assert_pixel(picture.frame, 194, 40, 98, 119, 116);
        free_picture(&picture);
    }
}

// 0x1234: ones in bits 2, 4, 5, 9, 12; check (4 ^ 3 ^ 2 ^ 1 ^ 10) & 15 = 14: blocks 17, 18, 19.
TEST(test_the_number_is_striped_where_its_bits_are_set)
{
    static const char blocks[] = "00101100010010000111";

    for (size_t i = 0; i < ARRAY_LENGTH(formats); i++) {
        struct picture picture = new_picture(formats[i], 200, 120);

        pattern_draw(picture.pattern, 0x51234, picture.frame);
        for (uint32_t x = 0; x < 160; x++) {
            uint8_t luma = blocks[x / 8] == '1' && x % 4 < 2 ? 220 : 30;

            assert_pixel(picture.frame, x, 0, luma, 128, 128);
            assert_pixel(picture.frame, x, 7, luma, 128, 128);
        }
        free_picture(&picture);
    }
}

// As tests/e2e reads it: a block is a 1 when neighbouring pixels differ.
static uint32_t read_number(const struct frame *frame, uint32_t block_px)
{
    uint32_t bits = 0;

    for (uint32_t k = 0; k < 20; k++) {
        int contrast = luma_at(frame, k * block_px + 1, 1) - luma_at(frame, k * block_px + 2, 1);

        bits |= (uint32_t)(contrast > 90) << k;
    }
    return bits;
}

TEST(test_the_number_is_readable_at_usual_sizes)
{
    static const struct {
        uint32_t width, height, block_px, number, bits;
    } cases[] = {
        {1280, 720, 64, 0, 0xa0000},  {1280, 720, 64, 65535, 0xaffff},
        {1920, 1080, 96, 1, 0xb0001}, {640, 360, 32, 65536 + 5, 0xf0005},
        {80, 60, 4, 0x1234, 0xe1234}, {641, 361, 32, 0x1234, 0xe1234},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct picture picture = new_picture("NV12", cases[i].width, cases[i].height);

        pattern_draw(picture.pattern, cases[i].number, picture.frame);
        assert_int_equal(read_number(picture.frame, cases[i].block_px), cases[i].bits);
        free_picture(&picture);
    }
}

TEST(test_odd_and_tiny_pictures_are_drawn_within_their_planes)
{
    static const uint32_t sizes[][2] = {{1, 1}, {5, 3}, {41, 41}, {79, 7}, {81, 2}, {1, 100}};

    for (size_t i = 0; i < ARRAY_LENGTH(sizes) * ARRAY_LENGTH(formats); i++) {
        const uint32_t *size = sizes[i / ARRAY_LENGTH(formats)];
        struct picture picture = new_picture(formats[i % ARRAY_LENGTH(formats)], size[0], size[1]);
        const struct frame_layout *layout = &picture.frame->layout;

        memset(picture.frame->data, 1, layout->size);
        pattern_draw(picture.pattern, 12345, picture.frame);
        for (unsigned p = 0; p < layout->format->plane_count; p++) {
            size_t stride = layout->planes[p].stride, width = layout->planes[p].width_bytes;

            for (size_t at = 0; at < stride * layout->planes[p].rows; at++) {
                uint8_t byte = frame_plane(picture.frame, p)[at];

                assert_true(at % stride < width ? byte >= 30 : byte == 1);
            }
        }
        free_picture(&picture);
    }
}

TEST(test_formats_without_a_luma_plane_are_refused)
{
    struct frame_layout layout;
    struct pattern *pattern;

    frame_layout_init(&layout, pixel_format_by_name("RGB3"), 64, 64, 1);
    assert_int_equal(pattern_new(&layout, &pattern), -ENOTSUP);
    pattern_free(NULL);
}

RUN_TESTS(NULL, NULL)
