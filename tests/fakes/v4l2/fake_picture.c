// The fake camera's pictures.
#include "tests/fakes/v4l2/fake_camera.h"

#include <stdlib.h>
#include <string.h>

static uint8_t luma(uint32_t x, uint32_t y, uint32_t n)
{
    return (uint8_t)(16 + (3 * x + 5 * y + 7 * n) % 220);
}

static uint8_t cb(uint32_t x, uint32_t y, uint32_t n)
{
    return (uint8_t)(16 + (2 * x + y + 3 * n) % 225);
}

static uint8_t cr(uint32_t x, uint32_t y, uint32_t n)
{
    return (uint8_t)(16 + (x + 4 * y + 5 * n) % 225);
}

static void draw_plane(uint8_t *data, uint32_t stride, uint32_t width, uint32_t height,
                       uint32_t step, uint32_t n, uint8_t (*sample)(uint32_t, uint32_t, uint32_t))
{
    bool mirrored = fake_control_is_on(V4L2_CID_HFLIP), over = fake_control_is_on(V4L2_CID_VFLIP);

    for (uint32_t y = 0; y < height; y++) {
        for (uint32_t x = 0; x < width; x++) {
            data[(size_t)y * stride + (size_t)x * step] =
                sample(mirrored ? width - 1 - x : x, over ? height - 1 - y : y, n);
        }
    }
}

// Planes one behind the other, as V4L2 lays out its single-buffer formats.
static void draw_planar(const struct v4l2_pix_format *pix, uint32_t n, uint8_t *data)
{
    uint8_t *chroma = data + (size_t)pix->bytesperline * pix->height;
    uint32_t width = (pix->width + 1) / 2, height = (pix->height + 1) / 2;
    bool swapped = pix->pixelformat == V4L2_PIX_FMT_NV21;

    draw_plane(data, pix->bytesperline, pix->width, pix->height, 1, n, luma);
    if (pix->pixelformat == V4L2_PIX_FMT_YUV420) {
        uint32_t stride = pix->bytesperline / 2;

        draw_plane(chroma, stride, width, height, 1, n, cb);
        draw_plane(chroma + (size_t)stride * height, stride, width, height, 1, n, cr);
    } else if (pix->pixelformat != V4L2_PIX_FMT_GREY) {
        draw_plane(chroma + swapped, pix->bytesperline, width, height, 2, n, cb);
        draw_plane(chroma + !swapped, pix->bytesperline, width, height, 2, n, cr);
    }
}

static void draw_packed_yuv(const struct v4l2_pix_format *pix, uint32_t n, uint8_t *data)
{
    unsigned first = pix->pixelformat == V4L2_PIX_FMT_UYVY;

    draw_plane(data + first, pix->bytesperline, pix->width, pix->height, 2, n, luma);
    draw_plane(data + !first, pix->bytesperline, pix->width / 2, pix->height, 4, n, cb);
    draw_plane(data + !first + 2, pix->bytesperline, pix->width / 2, pix->height, 4, n, cr);
}

static void draw_rgb(const struct v4l2_pix_format *pix, uint32_t n, uint8_t *data)
{
    unsigned red = pix->pixelformat == V4L2_PIX_FMT_RGB24 ? 0 : 2;
    uint32_t step = pix->pixelformat == V4L2_PIX_FMT_XBGR32 ? 4 : 3;

    draw_plane(data + red, pix->bytesperline, pix->width, pix->height, step, n, luma);
    draw_plane(data + 1, pix->bytesperline, pix->width, pix->height, step, n, cb);
    draw_plane(data + 2 - red, pix->bytesperline, pix->width, pix->height, step, n, cr);
}

// The colours of a pixel take turns as the order says.
static void draw_mosaic(const struct v4l2_pix_format *pix, const struct fake_mosaic *mosaic,
                        uint32_t n, uint8_t *data)
{
    uint16_t *row = calloc(pix->width, sizeof *row);

    for (uint32_t y = 0; row && y < pix->height; y++) {
        for (uint32_t x = 0; x < pix->width; x++) {
            char colour = mosaic->order[y % 2 * 2 + x % 2];
            unsigned value = colour == 'R'   ? luma(x, y, n)
                             : colour == 'G' ? cb(x, y, n)
                                             : cr(x, y, n);

            row[x] = (uint16_t)(257 * value);
        }
        fake_mosaic_write(mosaic, row, pix->width, data + (size_t)y * pix->bytesperline);
    }
    free(row);
}

static uint32_t draw_jpeg(const struct fake_camera *camera, uint8_t *data)
{
    uint32_t size = (uint32_t)camera->jpeg_size;

    if (size == 0)
        return 0;
    memcpy(data, camera->jpeg, size);
    if (fake_every(camera, "damage-every", 1) && fake_option_is(camera, "damage", "truncated"))
        return size / 2;
    if (fake_every(camera, "damage-every", 1) && fake_option_is(camera, "damage", "garbage")) {
        for (uint32_t i = 0, x = 1; i < size; i++, x = x * 1664525 + 1013904223)
            data[i] = (uint8_t)(x >> 24);
    }
    return size;
}

uint32_t fake_draw(const struct fake_camera *camera, uint32_t number, uint8_t *data)
{
    struct fake_mosaic mosaic;

    if (camera->pix.pixelformat != V4L2_PIX_FMT_MJPEG &&
        camera->jpeg_size == camera->pix.sizeimage) {
        memcpy(data, camera->jpeg, camera->jpeg_size);
        return camera->pix.sizeimage;
    }
    if (fake_mosaic(camera->pix.pixelformat, &mosaic)) {
        draw_mosaic(&camera->pix, &mosaic, number, data);
        return camera->pix.sizeimage;
    }
    switch (camera->pix.pixelformat) {
    case V4L2_PIX_FMT_YUYV:
    case V4L2_PIX_FMT_UYVY:
        draw_packed_yuv(&camera->pix, number, data);
        break;
    case V4L2_PIX_FMT_RGB24:
    case V4L2_PIX_FMT_BGR24:
    case V4L2_PIX_FMT_XBGR32:
        draw_rgb(&camera->pix, number, data);
        break;
    case V4L2_PIX_FMT_MJPEG:
        return draw_jpeg(camera, data);
    default:
        draw_planar(&camera->pix, number, data);
    }
    return camera->pix.sizeimage;
}
