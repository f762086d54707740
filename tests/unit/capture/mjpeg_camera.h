// What the tests of JPEGs from a camera share: JPEGs, what TurboJPEG itself makes of them, and the
// V4L2 source with the fake camera (linked in, see v4l2_source.h) that shows one.
#pragma once

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

static inline struct jpeg make_jpeg(int width, int height, int subsampling)
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
static inline unsigned char *decode_with_oracle(const struct jpeg *jpeg, int width, int height,
                                                bool rgb)
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

static inline void assert_equals_packed_planes(const struct frame *frame,
                                               const unsigned char *expected)
{
    for (unsigned p = 0; p < frame->layout.format->plane_count; p++) {
        for (uint32_t y = 0; y < frame->layout.planes[p].rows; y++) {
            assert_memory_equal(frame_plane(frame, p) + y * frame->layout.planes[p].stride,
                                expected, frame->layout.planes[p].width_bytes);
            expected += frame->layout.planes[p].width_bytes;
        }
    }
}

static inline struct frame *new_frame(const char *format, int width, int height)
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
static inline struct source *start_camera(const struct jpeg *jpeg, int width, int height,
                                          const char *more)
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
    if (source_v4l2_ops.open(&wish, &environment, &error, &source) < 0) {
        fail_msg("%s: %s", camera, error.text);
    }
    unlink(path);
    assert_int_equal(source_v4l2_ops.start(source, &error), 0);
    return source;
}
