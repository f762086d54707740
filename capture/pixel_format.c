#include "capture/pixel_format.h"

#include <linux/videodev2.h>
#include <string.h>

#define FOURCC_444P v4l2_fourcc('4', '4', '4', 'P')

static const struct pixel_format table[] = {
    {"YUYV", V4L2_PIX_FMT_YUYV, "YUY2", 1, {{4, 1, 0}}, 0, 2},
    {"UYVY", V4L2_PIX_FMT_UYVY, "UYVY", 1, {{4, 1, 0}}, 1, 2},
    {"NV12", V4L2_PIX_FMT_NV12, "NV12", 2, {{1, 0, 0}, {2, 1, 1}}, 0, 1},
    {"NV21", V4L2_PIX_FMT_NV21, "NV21", 2, {{1, 0, 0}, {2, 1, 1}}, 0, 1},
    {"YU12", V4L2_PIX_FMT_YUV420, "I420", 3, {{1, 0, 0}, {1, 1, 1}, {1, 1, 1}}, 0, 1},
    {"422P", V4L2_PIX_FMT_YUV422P, "Y42B", 3, {{1, 0, 0}, {1, 1, 0}, {1, 1, 0}}, 0, 1},
    {"444P", FOURCC_444P, "Y444", 3, {{1, 0, 0}, {1, 0, 0}, {1, 0, 0}}, 0, 1},
    {"GREY", V4L2_PIX_FMT_GREY, "GRAY8", 1, {{1, 0, 0}}, 0, 1},
    {"RGB3", V4L2_PIX_FMT_RGB24, "RGB", 1, {{3, 0, 0}}, 0, 0},
    {"BGR3", V4L2_PIX_FMT_BGR24, "BGR", 1, {{3, 0, 0}}, 0, 0},
    {"XR24", V4L2_PIX_FMT_XBGR32, "BGRx", 1, {{4, 0, 0}}, 0, 0},
};

const struct pixel_format *pixel_format_at(size_t index)
{
    return index < sizeof table / sizeof table[0] ? &table[index] : NULL;
}

const struct pixel_format *pixel_format_by_name(const char *name)
{
    const struct pixel_format *format;

    for (size_t i = 0; (format = pixel_format_at(i)); i++) {
        if (strcmp(format->name, name) == 0) {
            return format;
        }
    }
    return NULL;
}

const struct pixel_format *pixel_format_by_fourcc(uint32_t fourcc)
{
    const struct pixel_format *format;

    for (size_t i = 0; (format = pixel_format_at(i)); i++) {
        if (format->fourcc == fourcc) {
            return format;
        }
    }
    return NULL;
}

const struct pixel_format *pixel_format_by_gst_name(const char *gst_name)
{
    const struct pixel_format *format;

    for (size_t i = 0; (format = pixel_format_at(i)); i++) {
        if (strcmp(format->gst_name, gst_name) == 0) {
            return format;
        }
    }
    return NULL;
}
