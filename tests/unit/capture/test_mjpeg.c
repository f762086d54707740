// JPEGs from a camera: the decoder alone, and the V4L2 source with the fake camera. The oracle is
// TurboJPEG's own tjDecompressToYUV2().
#include "tests/unit/capture/mjpeg_camera.h"

static const struct {
    int subsampling;
    int width, height;
    const char *format;
} kinds[] = {
    {TJSAMP_420, 64, 48, "YU12"},  {TJSAMP_422, 64, 48, "422P"}, {TJSAMP_444, 64, 48, "444P"},
    {TJSAMP_GRAY, 64, 48, "GREY"}, {TJSAMP_440, 64, 48, "RGB3"}, {TJSAMP_411, 64, 48, "RGB3"},
    {TJSAMP_420, 70, 50, "YU12"},  {TJSAMP_422, 70, 51, "422P"}, {TJSAMP_444, 71, 53, "444P"},
    {TJSAMP_GRAY, 71, 53, "GREY"}, {TJSAMP_420, 71, 50, "RGB3"}, {TJSAMP_420, 70, 51, "RGB3"},
};

TEST(test_every_subsampling_decodes_as_turbojpeg_does)
{
    struct mjpeg *mjpeg;

    assert_int_equal(mjpeg_new(&mjpeg), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        int width = kinds[i].width, height = kinds[i].height;
        struct jpeg jpeg = make_jpeg(width, height, kinds[i].subsampling);
        unsigned char *expected =
            decode_with_oracle(&jpeg, width, height, strcmp(kinds[i].format, "RGB3") == 0);
        struct frame *frame = new_frame(kinds[i].format, width, height);

        assert_string_equal(
            mjpeg_format(mjpeg, jpeg.data, jpeg.size, (uint32_t)width, (uint32_t)height)->name,
            kinds[i].format);
        assert_int_equal(mjpeg_decode(mjpeg, jpeg.data, jpeg.size, &copies, frame), 0);
        assert_equals_packed_planes(frame, expected);
        frame_unref(frame);
        free(expected);
        tjFree(jpeg.data);
    }
    mjpeg_free(mjpeg);
}

TEST(test_every_truncation_is_an_error_and_the_next_jpeg_decodes)
{
    struct jpeg jpeg = make_jpeg(64, 48, TJSAMP_422);
    struct frame *frame = new_frame("422P", 64, 48);
    struct mjpeg *mjpeg;

    assert_int_equal(mjpeg_new(&mjpeg), 0);
    // The two bytes of the end marker are no part of the picture.
    for (unsigned long size = 0; size < jpeg.size - 2; size++) {
        // A copy of its own, so that a read beyond it is seen.
        uint8_t *part = malloc(size ? size : 1);

        memcpy(part, jpeg.data, size);
        assert_int_equal(mjpeg_decode(mjpeg, part, size, &copies, frame), -EBADMSG);
        assert_int_equal(mjpeg_decode(mjpeg, jpeg.data, jpeg.size, &copies, frame), 0);
        free(part);
    }
    mjpeg_free(mjpeg);
    frame_unref(frame);
    tjFree(jpeg.data);
}

TEST(test_padding_before_the_end_marker_is_no_damage)
{
    struct jpeg jpeg = make_jpeg(64, 48, TJSAMP_422);
    struct frame *frame = new_frame("422P", 64, 48);
    uint8_t *padded = calloc(1, jpeg.size + 2);
    struct mjpeg *mjpeg;

    assert_int_equal(mjpeg_new(&mjpeg), 0);
    memcpy(padded, jpeg.data, jpeg.size - 2);
    padded[jpeg.size] = 0xff;
    padded[jpeg.size + 1] = 0xd9;
    assert_int_equal(mjpeg_decode(mjpeg, padded, jpeg.size + 2, &copies, frame), 0);
    mjpeg_free(mjpeg);
    frame_unref(frame);
    tjFree(jpeg.data);
    free(padded);
}

TEST(test_damage_anywhere_never_crashes)
{
    struct jpeg jpeg = make_jpeg(64, 48, TJSAMP_420);
    struct frame *frame = new_frame("YU12", 64, 48);
    uint8_t *damaged = malloc(jpeg.size);
    unsigned refused = 0;
    uint32_t random = 1;
    struct mjpeg *mjpeg;

    assert_int_equal(mjpeg_new(&mjpeg), 0);
    for (int n = 0; n < 2000; n++) {
        memcpy(damaged, jpeg.data, jpeg.size);
        for (int i = 0; i < 4; i++) {
            random = random * 1664525 + 1013904223;
            damaged[(random >> 8) % jpeg.size] = (uint8_t)random;
        }
        refused += mjpeg_decode(mjpeg, damaged, jpeg.size, &copies, frame) == -EBADMSG;
    }
    assert_in_range(refused, 500, 2000);
    mjpeg_free(mjpeg);
    frame_unref(frame);
    tjFree(jpeg.data);
    free(damaged);
}

TEST(test_a_jpeg_of_another_size_or_subsampling_is_refused)
{
    struct jpeg jpeg = make_jpeg(64, 48, TJSAMP_422);
    struct frame *small = new_frame("422P", 32, 48), *other = new_frame("YU12", 64, 48);
    struct mjpeg *mjpeg;

    assert_int_equal(mjpeg_new(&mjpeg), 0);
    assert_int_equal(mjpeg_decode(mjpeg, jpeg.data, jpeg.size, &copies, small), -EBADMSG);
    assert_int_equal(mjpeg_decode(mjpeg, jpeg.data, jpeg.size, &copies, other), -EBADMSG);
    mjpeg_free(mjpeg);
    frame_unref(small);
    frame_unref(other);
    tjFree(jpeg.data);
}

TEST(test_mjpg_is_decoded_into_its_own_subsampling_with_one_counted_copy)
{
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        int width = kinds[i].width, height = kinds[i].height;
        struct jpeg jpeg = make_jpeg(width, height, kinds[i].subsampling);
        unsigned char *expected =
            decode_with_oracle(&jpeg, width, height, strcmp(kinds[i].format, "RGB3") == 0);
        struct source *source = start_camera(&jpeg, width, height, "");
        struct frame *frame = NULL;
        struct error error = {0};
        char description[64];

        snprintf(description, sizeof description, "V4L2 MMAP MJPG -> %s %dx%d@200", kinds[i].format,
                 width, height);
        assert_string_equal(source->mode.description, description);
        assert_int_equal(source->mode.layout.range, FRAME_RANGE_FULL);
        assert_int_equal(source_v4l2_ops.next(source, 2000, &error, &frame), 0);
        assert_equals_packed_planes(frame, expected);
        assert_int_equal(copies.count[COPY_MJPEG_DECODE], 1);
        assert_int_equal(copies.count[COPY_MMAP_FALLBACK], 0);
        frame_unref(frame);
        source_v4l2_ops.close(source);
        free(expected);
        tjFree(jpeg.data);
    }
}

TEST(test_broken_jpegs_are_counted_and_good_ones_go_on)
{
    const char *const damages[] = {"damage=garbage damage-every=2",
                                   "damage=truncated damage-every=2"};
    struct jpeg jpeg = make_jpeg(64, 48, TJSAMP_420);
    unsigned char *expected = decode_with_oracle(&jpeg, 64, 48, false);

    for (size_t i = 0; i < ARRAY_LENGTH(damages); i++) {
        struct source *source = start_camera(&jpeg, 64, 48, damages[i]);

        while (source->counters.corrupted < 3) {
            struct frame *frame = NULL;
            struct error error = {0};

            assert_int_equal(source_v4l2_ops.next(source, 2000, &error, &frame), 0);
            assert_equals_packed_planes(frame, expected);
            frame_unref(frame);
        }
        assert_int_equal(copies.count[COPY_MJPEG_DECODE], source->counters.frames);
        source_v4l2_ops.close(source);
    }
    free(expected);
    tjFree(jpeg.data);
}

TEST(test_a_camera_of_broken_jpegs_alone_delivers_nothing)
{
    const char *const damages[] = {"damage=garbage", "damage=truncated"};
    struct jpeg jpeg = make_jpeg(64, 48, TJSAMP_422);

    for (size_t i = 0; i < ARRAY_LENGTH(damages); i++) {
        struct source *source = start_camera(&jpeg, 64, 48, damages[i]);
        struct frame *frame = NULL;
        struct error error = {0};

        assert_int_equal(source_v4l2_ops.next(source, 100, &error, &frame), -EAGAIN);
        assert_in_range(source->counters.corrupted, 1, 1000);
        assert_int_equal(source->counters.frames, 0);
        source_v4l2_ops.close(source);
    }
    tjFree(jpeg.data);
}

// The next one is there before the last is known to be broken.
TEST(test_broken_jpegs_that_are_slow_to_decode_keep_nobody_waiting)
{
    struct jpeg jpeg = make_jpeg(2560, 1920, TJSAMP_444);
    struct source *source = start_camera(&jpeg, 2560, 1920, "damage=truncated");
    struct frame *frame = NULL;
    struct error error = {0};

    assert_int_equal(source_v4l2_ops.next(source, 100, &error, &frame), -EAGAIN);
    assert_in_range(source->counters.corrupted, 1, 1000);
    source_v4l2_ops.close(source);
    tjFree(jpeg.data);
}

RUN_TESTS(NULL, NULL)
