// Key frames by the types of NAL units, which are those of tables 7-1 of ITU-T H.264 and H.265.
#include "daemon/video/nal.h"
#include "tests/unit/unit.h"

static bool is_key(enum config_codec codec, const char *text, size_t size)
{
    return nal_is_key_frame(codec, (const uint8_t *)text, size);
}

#define IS_KEY(codec, text) is_key(codec, text, sizeof text - 1)

TEST(test_an_idr_picture_of_h264_is_a_key_frame)
{
    // SPS, PPS, a slice of an IDR picture.
    assert_true(IS_KEY(CONFIG_CODEC_H264, "\0\0\0\1\x67\x42\0\0\1\x68\xce\0\0\1\x65\x88"));
    assert_true(IS_KEY(CONFIG_CODEC_H264, "\0\0\1\x25\x88"));
}

// An intra picture that is no IDR has slices of type 1, as have those that refer to others.
TEST(test_any_other_picture_of_h264_is_none)
{
    assert_false(IS_KEY(CONFIG_CODEC_H264, "\0\0\1\x67\x42\0\0\1\x68\xce\0\0\1\x41\xb8"));
    assert_false(IS_KEY(CONFIG_CODEC_H264, "\0\0\1\x01\x9a"));
}

TEST(test_irap_pictures_of_h265_are_key_frames)
{
    // Behind an access unit delimiter: BLA_W_LP 16, IDR_W_RADL 19, IDR_N_LP 20, CRA 21.
    assert_true(IS_KEY(CONFIG_CODEC_H265, "\0\0\1\x46\1\x10\0\0\1\x20\1\xaf"));
    assert_true(IS_KEY(CONFIG_CODEC_H265, "\0\0\1\x40\1\xc\0\0\1\x26\1\xaf"));
    assert_true(IS_KEY(CONFIG_CODEC_H265, "\0\0\1\x28\1\xaf"));
    assert_true(IS_KEY(CONFIG_CODEC_H265, "\0\0\1\x2a\1\xaf"));
}

TEST(test_any_other_picture_of_h265_is_none)
{
    // TRAIL_R 1, RASL_R 9, and 22, which is reserved.
    assert_false(IS_KEY(CONFIG_CODEC_H265, "\0\0\1\x42\1\xc\0\0\1\x02\1\xd0"));
    assert_false(IS_KEY(CONFIG_CODEC_H265, "\0\0\1\x12\1\xd0"));
    assert_false(IS_KEY(CONFIG_CODEC_H265, "\0\0\1\x2c\1\xd0"));
}

TEST(test_what_has_no_slice_is_no_key_frame)
{
    assert_false(IS_KEY(CONFIG_CODEC_H264, "\0\0\1\x67\x42\0\0\1\x68\xce"));
    assert_false(IS_KEY(CONFIG_CODEC_H265, "\0\0\1\x40\1\xc"));
    assert_false(IS_KEY(CONFIG_CODEC_H264, ""));
    assert_false(IS_KEY(CONFIG_CODEC_H265, "\0\0\1"));
}

RUN_TESTS(NULL, NULL)
