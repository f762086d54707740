// Colours written into sequence parameter sets, as FFmpeg's h264_metadata filter writes them, and
// the order of pictures.
#include "daemon/video/h264_sps.h"

#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>

// Range full, BT.709's primaries, sRGB's transfer, BT.601's matrix.
static const struct h264_sps colour = {FRAME_RANGE_FULL, {1, 13, 6}, false};

// `in_order` has max_num_reorder_frames 0 where FFmpeg's trace_headers finds it, or restrictions of
// nothing behind it, worked out by hand.
struct set {
    const char *before, *after, *in_order;
};

static const struct set sets[] = {
    // x264: High, scaling lists, cropping, a long aspect ratio, timing, HRD
    {"67640028acd940780227e5ffc00540051a8081012000000300200000064c080005b8d8000b71bc98600f183196",
     "67640028acd940780227e5ffc00540051b8086832000000300200000064c080005b8d8000b71bc98600f183196",
     "67640028acd940780227e5ffc00540051b8086832000000300200000064c080005b8d8000b71bc98600f183258"},
    // x264: High 4:4:4, interlaced, a range but no colours
    {"67f40015919b282821f89c05b2000003000200000300643e28532c",
     "67f40015919b282821f89c05b8086832000003000200000300643e28532c",
     "67f40015919b282821f89c05b8086832000003000200000300643e2854b0"},
    // OpenH264: no signal type
    {"6742c01f8c8d402802dd00f08846a0", "6742c01f8c8d402802dd37010d0607844235",
     "6742c01f8c8d402802dd37010d0607844235"},
    // RFC 6184's: no VUI
    {"6742000a9653058988", "6742000a96530589937010d06020", "6742000a96530589937010d0606d04021340"},
};

static size_t bytes_of(const char *hex, uint8_t bytes[64])
{
    size_t size = strlen(hex) / 2;

    for (size_t i = 0; i < size; i++) {
        unsigned byte;

        sscanf(hex + 2 * i, "%2x", &byte);
        bytes[i] = (uint8_t)byte;
    }
    return size;
}

static void assert_is(GByteArray *sps, const char *hex)
{
    uint8_t expected[64];
    size_t size = bytes_of(hex, expected);

    assert_non_null(sps);
    assert_int_equal(sps->len, size);
    assert_memory_equal(sps->data, expected, size);
    g_byte_array_unref(sps);
}

TEST(test_only_the_colours_change)
{
    for (size_t i = 0; i < ARRAY_LENGTH(sets); i++) {
        uint8_t before[64];
        size_t size = bytes_of(sets[i].before, before);

        assert_is(h264_sps_rewrite(before, size, &colour), sets[i].after);
        size = bytes_of(sets[i].after, before);
        assert_is(h264_sps_rewrite(before, size, &colour), sets[i].after);
    }
}

TEST(test_pictures_in_order_are_said_to_be)
{
    struct h264_sps says = colour;

    says.in_order = true;
    for (size_t i = 0; i < ARRAY_LENGTH(sets); i++) {
        uint8_t before[64];
        size_t size = bytes_of(sets[i].before, before);

        assert_is(h264_sps_rewrite(before, size, &says), sets[i].in_order);
        size = bytes_of(sets[i].in_order, before);
        assert_is(h264_sps_rewrite(before, size, &says), sets[i].in_order);
    }
}

// High, 64x16, whose first scaling list begins with a step of 2^31 - 1; allowed is up to 127.
TEST(test_scaling_lists_that_cannot_be_are_left_alone)
{
    uint8_t bytes[64];
    size_t size = bytes_of("67640028ad8000000300fffffffefffe02d09c80", bytes);

    assert_null(h264_sps_rewrite(bytes, size, &colour));
}

TEST(test_what_breaks_off_or_is_no_parameter_set_is_left_alone)
{
    uint8_t bytes[64];
    size_t size = bytes_of(sets[0].before, bytes);

    assert_null(h264_sps_rewrite(bytes, 0, &colour));
    for (size_t length = 1; length < 15; length++) { // to its signal type
        uint8_t *copy = malloc(length); // so that a sanitizer sees what is read behind it

        memcpy(copy, bytes, length);
        assert_null(h264_sps_rewrite(copy, length, &colour));
        free(copy);
    }
    memset(bytes + 4, 0, size - 4);
    assert_null(h264_sps_rewrite(bytes, size, &colour));
    bytes[0] = 0x68;
    assert_null(h264_sps_rewrite(bytes, size, &colour));
}

// As FFmpeg's trace_headers reads them.
TEST(test_sizes_aspects_and_colours_are_read)
{
    static const struct {
        size_t set;
        struct nal_picture picture;
    } cases[] = {
        {0, {1920, 1080, 21, 20, 1, 8, 8, true, FRAME_RANGE_LIMITED, {1, 2, 2}}},
        {1, {320, 240, 1, 1, 3, 8, 8, true, FRAME_RANGE_FULL, {2, 2, 2}}},
        {3, {176, 144, 1, 1, 1, 8, 8, false, FRAME_RANGE_LIMITED, {2, 2, 2}}},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct nal_picture *expected = &cases[i].picture;
        struct nal_picture found;
        uint8_t bytes[64];
        size_t size = bytes_of(sets[cases[i].set].before, bytes);

        assert_int_equal(h264_sps_read(bytes, size, &found), 0);
        assert_int_equal(found.width, expected->width);
        assert_int_equal(found.height, expected->height);
        assert_int_equal(found.aspect_width, expected->aspect_width);
        assert_int_equal(found.aspect_height, expected->aspect_height);
        assert_int_equal(found.chroma_format, expected->chroma_format);
        assert_int_equal(found.says_range, expected->says_range);
        assert_int_equal(found.range, expected->range);
        assert_memory_equal(&found.colour, &expected->colour, sizeof found.colour);
        assert_int_equal(h264_sps_read(bytes, size / 4, &found), -EBADMSG);
    }
}

RUN_TESTS(NULL, NULL)
