// JPEGs from a camera: the decoder alone, and the V4L2 source with the fake camera. The oracle is
// TurboJPEG's own tjDecompressToYUV2(), which of JPEGs that are not quite right, and do no harm by
// it, is shown what they were before.
#include "tests/unit/unit.h"

#include "capture/source.h"
#include "capture/v4l2/mjpeg.h"

#include <errno.h>
#include <linux/videodev2.h>
#include <stdio.h>
#include <string.h>
#include <turbojpeg.h>

// Last, for it is the code of the camera.
#include "tests/fakes/v4l2/fake_v4l2.c" // NOLINT(bugprone-suspicious-include)

static struct copies copies;

struct jpeg {
    unsigned char *data;
    unsigned long size;
};

static struct jpeg make_jpeg(int width, int height, int subsampling)
{
    struct jpeg jpeg = {0};
    tjhandle handle = tjInitCompress();
    unsigned char *rgb = malloc((size_t)width * (size_t)height * 3);

    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            rgb[(y * width + x) * 3] = (unsigned char)(x * 3 + y);
            rgb[(y * width + x) * 3 + 1] = (unsigned char)(x * y / 8);
            rgb[(y * width + x) * 3 + 2] = (unsigned char)(255 - x - y);
        }
    }
    assert_int_equal(tjCompress2(handle, rgb, width, 0, height, TJPF_RGB, &jpeg.data, &jpeg.size,
                                 subsampling, 90, 0),
                     0);
    free(rgb);
    tjDestroy(handle);
    return jpeg;
}

// The planes as TurboJPEG itself decodes them, or RGB.
static unsigned char *decode_with_oracle(const struct jpeg *jpeg, int width, int height, bool rgb)
{
    tjhandle handle = tjInitDecompress();
    unsigned char *picture = malloc((size_t)(width + 8) * (size_t)(height + 8) * 3);
    int r = rgb ? tjDecompress2(handle, jpeg->data, jpeg->size, picture, width, width * 3, height,
                                TJPF_RGB, 0)
                : tjDecompressToYUV2(handle, jpeg->data, jpeg->size, picture, width, 1, height, 0);

    assert_int_equal(r, 0);
    tjDestroy(handle);
    return picture;
}

static void assert_equals_packed_planes(const struct frame *frame, const unsigned char *expected)
{
    for (unsigned p = 0; p < frame->layout.format->plane_count; p++) {
        for (uint32_t y = 0; y < frame->layout.planes[p].rows; y++) {
            assert_memory_equal(frame_plane(frame, p) + y * frame->layout.planes[p].stride,
                                expected, frame->layout.planes[p].width_bytes);
            expected += frame->layout.planes[p].width_bytes;
        }
    }
}

static struct frame *new_frame(const char *format, int width, int height)
{
    struct frame_layout layout;
    struct frame_pool *pool;
    struct frame *frame;

    frame_layout_init(&layout, pixel_format_by_name(format), (uint32_t)width, (uint32_t)height, 64);
    assert_int_equal(frame_pool_new(&layout, 1, frame_allocator_host(), &pool), 0);
    frame = frame_pool_take(pool);
    frame_pool_unref(pool);
    return frame;
}

// The fake camera that shows `jpeg`, started.
static struct source *start_camera(const struct jpeg *jpeg, int width, int height, const char *more)
{
    struct config_camera wish = {
        .device = (char *)"/dev/video0",
        .format = (char *)"auto",
        .width = width,
        .height = height,
        .fps = 200,
    };
    struct source_environment environment = {frame_allocator_host(), &copies, NULL};
    char path[] = "/tmp/test_mjpeg.XXXXXX", camera[256];
    struct error error = {0};
    struct source *source;
    int fd = mkstemp(path);

    assert_int_equal(write(fd, jpeg->data, jpeg->size), jpeg->size);
    close(fd);
    snprintf(camera, sizeof camera, "format=MJPG size=%dx%d fps=200 mjpg=%s %s", width, height,
             path, more);
    setenv("EDGED_FAKE_V4L2", camera, 1);
    memset(&copies, 0, sizeof copies);
    if (source_v4l2_ops.open(&wish, &environment, &error, &source) < 0)
        fail_msg("%s: %s", camera, error.text);
    unlink(path);
    assert_int_equal(source_v4l2_ops.start(source, &error), 0);
    return source;
}

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
