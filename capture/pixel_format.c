#include "capture/pixel_format.h"

#include <linux/videodev2.h>
#include <string.h>

#define FOURCC_444P v4l2_fourcc('4', '4', '4', 'P')

static const struct pixel_format table[] = {
    {"YUYV", V4L2_PIX_FMT_YUYV, "YUY2", 1, {{4, 1, 0}}, 0, 2, {0}},
    {"UYVY", V4L2_PIX_FMT_UYVY, "UYVY", 1, {{4, 1, 0}}, 1, 2, {0}},
    {"NV12", V4L2_PIX_FMT_NV12, "NV12", 2, {{1, 0, 0}, {2, 1, 1}}, 0, 1, {0}},
    {"NV21", V4L2_PIX_FMT_NV21, "NV21", 2, {{1, 0, 0}, {2, 1, 1}}, 0, 1, {0}},
    {"YU12", V4L2_PIX_FMT_YUV420, "I420", 3, {{1, 0, 0}, {1, 1, 1}, {1, 1, 1}}, 0, 1, {0}},
    {"422P", V4L2_PIX_FMT_YUV422P, "Y42B", 3, {{1, 0, 0}, {1, 1, 0}, {1, 1, 0}}, 0, 1, {0}},
    {"444P", FOURCC_444P, "Y444", 3, {{1, 0, 0}, {1, 0, 0}, {1, 0, 0}}, 0, 1, {0}},
    {"GREY", V4L2_PIX_FMT_GREY, "GRAY8", 1, {{1, 0, 0}}, 0, 1, {0}},
    {"RGB3", V4L2_PIX_FMT_RGB24, "RGB", 1, {{3, 0, 0}}, 0, 0, {0}},
    {"BGR3", V4L2_PIX_FMT_BGR24, "BGR", 1, {{3, 0, 0}}, 0, 0, {0}},
    {"XR24", V4L2_PIX_FMT_XBGR32, "BGRx", 1, {{4, 0, 0}}, 0, 0, {0}},
};

// The four orders of samples of so many bits, 1 << shift of which fill so many bytes.
#define MOSAIC(name, fourcc, bits, packed, bytes, shift, red_x, red_y)                             \
    {                                                                                              \
        name, fourcc, NULL, 1, {{bytes, shift, 0}}, 0, 0,                                          \
        {                                                                                          \
            bits, packed, red_x, red_y                                                             \
        }                                                                                          \
    }
#define MOSAICS(name_rggb, name_grbg, name_gbrg, name_bggr, suffix, ...)                           \
    MOSAIC(name_rggb, V4L2_PIX_FMT_SRGGB##suffix, __VA_ARGS__, 0, 0),                              \
        MOSAIC(name_grbg, V4L2_PIX_FMT_SGRBG##suffix, __VA_ARGS__, 1, 0),                          \
        MOSAIC(name_gbrg, V4L2_PIX_FMT_SGBRG##suffix, __VA_ARGS__, 0, 1),                          \
        MOSAIC(name_bggr, V4L2_PIX_FMT_SBGGR##suffix, __VA_ARGS__, 1, 1)

static const struct pixel_format mosaics[] = {
    MOSAICS("RGGB", "GRBG", "GBRG", "BA81", 8, 8, false, 1, 0),
    MOSAICS("RG10", "BA10", "GB10", "BG10", 10, 10, false, 2, 0),
    MOSAICS("pRAA", "pgAA", "pGAA", "pBAA", 10P, 10, true, 5, 2),
    MOSAICS("RG12", "BA12", "GB12", "BG12", 12, 12, false, 2, 0),
    MOSAICS("pRCC", "pgCC", "pGCC", "pBCC", 12P, 12, true, 3, 1),
    MOSAICS("RG16", "GR16", "GB16", "BYR2", 16, 16, false, 2, 0),
};

const struct pixel_format *pixel_format_at(size_t index)
{
    return index < sizeof table / sizeof table[0] ? &table[index] : NULL;
}

// Entry `index` of both tables.
static const struct pixel_format *format_at(size_t index)
{
    const size_t count = sizeof table / sizeof table[0];

    if (index < count)
        return &table[index];
    return index - count < sizeof mosaics / sizeof mosaics[0] ? &mosaics[index - count] : NULL;
}

const struct pixel_format *pixel_format_by_name(const char *name)
{
    const struct pixel_format *format;

    for (size_t i = 0; (format = format_at(i)); i++) {
        if (strcmp(format->name, name) == 0)
            return format;
    }
    return NULL;
}

const struct pixel_format *pixel_format_picture_by_name(const char *name)
{
    const struct pixel_format *format = pixel_format_by_name(name);

    return format && format->mosaic.bits == 0 ? format : NULL;
}

const struct pixel_format *pixel_format_by_fourcc(uint32_t fourcc)
{
    const struct pixel_format *format;

    for (size_t i = 0; (format = format_at(i)); i++) {
        if (format->fourcc == fourcc)
            return format;
    }
    return NULL;
}

const struct pixel_format *pixel_format_by_gst_name(const char *gst_name)
{
    const struct pixel_format *format;

    for (size_t i = 0; (format = pixel_format_at(i)); i++) {
        if (strcmp(format->gst_name, gst_name) == 0)
            return format;
    }
    return NULL;
}
