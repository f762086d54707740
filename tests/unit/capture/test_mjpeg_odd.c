// JPEGs of cameras that are not quite right, and do no harm by it. The oracle is TurboJPEG with the
// same JPEG before it was made odd.
#include "tests/unit/capture/mjpeg_camera.h"

static const int subsamplings[] = {TJSAMP_420, TJSAMP_422, TJSAMP_444, TJSAMP_GRAY, TJSAMP_440};

// A block of its own with `room` bytes behind the JPEG, so that what is written beyond is seen.
static uint8_t *copy_of(const struct jpeg *jpeg, size_t size, size_t room)
{
    uint8_t *copy = malloc(size + room);

    memcpy(copy, jpeg->data, size);
    return copy;
}

static void assert_decodes(const uint8_t *data, size_t size, const unsigned char *expected)
{
    struct frame *frame = new_frame("422P", 64, 48);
    struct mjpeg *mjpeg;

    assert_int_equal(mjpeg_new(&mjpeg), 0);
    assert_int_equal(mjpeg_decode(mjpeg, data, size, &copies, frame), 0);
    assert_equals_packed_planes(frame, expected);
    mjpeg_free(mjpeg);
    frame_unref(frame);
}

TEST(test_a_missing_end_marker_is_put_there)
{
    struct jpeg jpeg = make_jpeg(64, 48, TJSAMP_422);
    unsigned char *expected = decode_with_oracle(&jpeg, 64, 48, false);

    for (size_t lost = 0; lost <= 2; lost++) {
        uint8_t *data = copy_of(&jpeg, jpeg.size - lost, 2);
        size_t size = mjpeg_mend(data, jpeg.size - lost, jpeg.size - lost + 2);

        assert_int_equal(size, lost == 0 ? jpeg.size : jpeg.size - lost + 2);
        assert_decodes(data, size, expected);
        free(data);
    }
    free(expected);
    tjFree(jpeg.data);
}

TEST(test_without_room_nothing_is_written)
{
    struct jpeg jpeg = make_jpeg(64, 48, TJSAMP_422);

    for (size_t room = 0; room < 2; room++) {
        uint8_t *data = copy_of(&jpeg, jpeg.size - 2, room);

        assert_int_equal(mjpeg_mend(data, jpeg.size - 2, jpeg.size - 2 + room), jpeg.size - 2);
        free(data);
    }
    tjFree(jpeg.data);
}

static void assert_truncations_stay_broken(const struct jpeg *jpeg)
{
    struct frame *frame = new_frame("422P", 64, 48);
    struct mjpeg *mjpeg;

    assert_int_equal(mjpeg_new(&mjpeg), 0);
    for (size_t cut = 0; cut < jpeg->size - 2; cut++) {
        uint8_t *data = copy_of(jpeg, cut, 2);
        size_t size = mjpeg_mend(data, cut, cut + 2);

        assert_int_equal(mjpeg_decode(mjpeg, data, size, &copies, frame), -EBADMSG);
        free(data);
    }
    mjpeg_free(mjpeg);
    frame_unref(frame);
}

TEST(test_a_mended_end_hides_no_missing_block)
{
    struct jpeg jpeg = make_jpeg(64, 48, TJSAMP_422), restarting, progressive;

    setenv("TJ_RESTART", "1", 1);
    restarting = make_jpeg(64, 48, TJSAMP_422);
    unsetenv("TJ_RESTART");
    setenv("TJ_PROGRESSIVE", "1", 1);
    progressive = make_jpeg(64, 48, TJSAMP_422);
    unsetenv("TJ_PROGRESSIVE");
    assert_int_not_equal(restarting.size, jpeg.size);
    assert_int_not_equal(progressive.size, jpeg.size);
    assert_truncations_stay_broken(&jpeg);
    jpeg.data[11] = 2; // no warning about that may come first
    assert_truncations_stay_broken(&jpeg);
    assert_truncations_stay_broken(&restarting);
    assert_truncations_stay_broken(&progressive);
    tjFree(jpeg.data);
    tjFree(restarting.data);
    tjFree(progressive.data);
}

TEST(test_any_jfif_version_decodes)
{
    struct jpeg jpeg = make_jpeg(64, 48, TJSAMP_422);
    unsigned char *expected = decode_with_oracle(&jpeg, 64, 48, false);

    assert_memory_equal(jpeg.data + 6, "JFIF\0\1", 6);
    for (unsigned version = 0; version < 256; version++) {
        jpeg.data[11] = (unsigned char)version;
        assert_int_equal(mjpeg_mend(jpeg.data, jpeg.size, jpeg.size), jpeg.size);
        assert_decodes(jpeg.data, jpeg.size, expected);
    }
    free(expected);
    tjFree(jpeg.data);
}

// The upper left part of a plane as TurboJPEG decodes the whole, whose planes it packs.
static void assert_is_upper_left_part(const struct frame *frame, const unsigned char *whole,
                                      int width, int height, int subsampling)
{
    bool rgb = frame->layout.format->luma_step == 0;

    for (unsigned p = 0; p < frame->layout.format->plane_count; p++) {
        size_t stride = (size_t)(rgb ? width * 3 : tjPlaneWidth((int)p, width, subsampling));

        for (uint32_t y = 0; y < frame->layout.planes[p].rows; y++) {
            assert_memory_equal(frame_plane(frame, p) + y * frame->layout.planes[p].stride,
                                whole + y * stride, frame->layout.planes[p].width_bytes);
        }
        whole += stride * (size_t)(rgb ? height : tjPlaneHeight((int)p, height, subsampling));
    }
}

TEST(test_a_larger_jpeg_is_cropped)
{
    static const int excess[][2] = {{0, 8}, {0, 15}, {15, 0}, {1, 1}, {15, 15}};

    for (size_t i = 0; i < ARRAY_LENGTH(subsamplings) * ARRAY_LENGTH(excess); i++) {
        int subsampling = subsamplings[i % ARRAY_LENGTH(subsamplings)];
        int width = 64 + excess[i / ARRAY_LENGTH(subsamplings)][0];
        int height = 48 + excess[i / ARRAY_LENGTH(subsamplings)][1];
        struct jpeg jpeg = make_jpeg(width, height, subsampling);
        unsigned char *whole = decode_with_oracle(&jpeg, width, height, subsampling == TJSAMP_440);
        struct source *source = start_camera(&jpeg, 64, 48, "");
        struct frame *frame = NULL;
        struct error error = {0};

        assert_int_equal(source_v4l2_ops.next(source, 2000, &error, &frame), 0);
        assert_int_equal(frame->layout.width, 64);
        assert_int_equal(frame->layout.height, 48);
        assert_is_upper_left_part(frame, whole, width, height, subsampling);
        assert_int_equal(copies.count[COPY_MJPEG_DECODE], 2);
        frame_unref(frame);
        source_v4l2_ops.close(source);
        free(whole);
        tjFree(jpeg.data);
    }
}

TEST(test_a_jpeg_larger_by_a_block_or_smaller_is_refused)
{
    static const int sizes[][2] = {{80, 48}, {64, 64}, {63, 48}, {64, 47}, {79, 47}};
    struct mjpeg *mjpeg;

    assert_int_equal(mjpeg_new(&mjpeg), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
        struct jpeg jpeg = make_jpeg(sizes[i][0], sizes[i][1], TJSAMP_420);

        assert_null(mjpeg_format(mjpeg, jpeg.data, jpeg.size, 64, 48));
        tjFree(jpeg.data);
    }
    mjpeg_free(mjpeg);
}

TEST(test_a_camera_of_odd_jpegs_streams)
{
    struct jpeg jpeg = make_jpeg(64, 48, TJSAMP_422);
    unsigned char *expected = decode_with_oracle(&jpeg, 64, 48, false);
    struct source *source;
    struct frame *frame = NULL;
    struct error error = {0};

    jpeg.data[11] = 2;
    jpeg.size -= 2;
    source = start_camera(&jpeg, 64, 48, "");
    assert_int_equal(source_v4l2_ops.next(source, 2000, &error, &frame), 0);
    assert_equals_packed_planes(frame, expected);
    assert_int_equal(source->counters.corrupted, 0);
    frame_unref(frame);
    source_v4l2_ops.close(source);
    free(expected);
    tjFree(jpeg.data);
}

RUN_TESTS(NULL, NULL)
