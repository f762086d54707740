#include "capture/v4l2/v4l2_colour.h"

#include "config/base.h"

#include <string.h>

// 0: unspecified.
static const uint8_t primaries_of[] = {
    [V4L2_COLORSPACE_SMPTE170M] = 6,    [V4L2_COLORSPACE_SMPTE240M] = 7,
    [V4L2_COLORSPACE_REC709] = 1,       [V4L2_COLORSPACE_BT878] = 6,
    [V4L2_COLORSPACE_470_SYSTEM_M] = 4, [V4L2_COLORSPACE_470_SYSTEM_BG] = 5,
    [V4L2_COLORSPACE_JPEG] = 1,         [V4L2_COLORSPACE_SRGB] = 1,
    [V4L2_COLORSPACE_BT2020] = 9,       [V4L2_COLORSPACE_DCI_P3] = 11,
};
static const uint8_t transfer_of[] = {
    [V4L2_XFER_FUNC_709] = 1,        [V4L2_XFER_FUNC_SRGB] = 13, [V4L2_XFER_FUNC_OPRGB] = 4,
    [V4L2_XFER_FUNC_SMPTE240M] = 7,  [V4L2_XFER_FUNC_NONE] = 8,  [V4L2_XFER_FUNC_DCI_P3] = 17,
    [V4L2_XFER_FUNC_SMPTE2084] = 16,
};
static const uint8_t matrix_of[] = {
    [V4L2_YCBCR_ENC_601] = 6,
    [V4L2_YCBCR_ENC_709] = 1,
    [V4L2_YCBCR_ENC_XV601] = 6,
    [V4L2_YCBCR_ENC_XV709] = 1,
    [V4L2_YCBCR_ENC_SYCC] = 6,
    [V4L2_YCBCR_ENC_BT2020] = 9,
    [V4L2_YCBCR_ENC_BT2020_CONST_LUM] = 10,
    [V4L2_YCBCR_ENC_SMPTE240M] = 7,
};

static uint32_t number_of(const uint8_t *table, size_t length, uint32_t index)
{
    return index < length && table[index] ? table[index] : COLOUR_UNSPECIFIED;
}

static bool says_colorspace(const struct v4l2_pix_format *pix)
{
    return pix->colorspace != V4L2_COLORSPACE_DEFAULT && pix->colorspace != V4L2_COLORSPACE_RAW;
}

static struct frame_colour read_colour(const struct v4l2_pix_format *pix)
{
    uint32_t transfer = pix->xfer_func, matrix = pix->ycbcr_enc;

    if (says_colorspace(pix) && transfer == V4L2_XFER_FUNC_DEFAULT) {
        transfer = V4L2_MAP_XFER_FUNC_DEFAULT(pix->colorspace);
    }
    if (says_colorspace(pix) && matrix == V4L2_YCBCR_ENC_DEFAULT &&
        pix->pixelformat != V4L2_PIX_FMT_MJPEG) {
        matrix = V4L2_MAP_YCBCR_ENC_DEFAULT(pix->colorspace);
    }
    return (struct frame_colour){
        number_of(primaries_of, ARRAY_LENGTH(primaries_of), pix->colorspace),
        number_of(transfer_of, ARRAY_LENGTH(transfer_of), transfer),
        number_of(matrix_of, ARRAY_LENGTH(matrix_of), matrix)};
}

static enum frame_range read_range(const struct v4l2_pix_format *pix,
                                   const struct frame_layout *layout)
{
    switch (pix->quantization) {
    case V4L2_QUANTIZATION_FULL_RANGE:
        return FRAME_RANGE_FULL;
    case V4L2_QUANTIZATION_LIM_RANGE:
        return FRAME_RANGE_LIMITED;
    }
    return pix->pixelformat == V4L2_PIX_FMT_MJPEG || pix->colorspace == V4L2_COLORSPACE_JPEG
               ? FRAME_RANGE_FULL
               : layout->range;
}

void v4l2_colour_read(const struct v4l2_pix_format *pix, struct frame_layout *layout)
{
    bool rgb = layout->format->luma_step == 0;
    struct frame_colour said = read_colour(pix), otherwise = layout->colour;

    layout->range = rgb ? FRAME_RANGE_FULL : read_range(pix, layout);
    if (pix->pixelformat == V4L2_PIX_FMT_MJPEG) {
        otherwise = (struct frame_colour){COLOUR_BT709, COLOUR_SRGB, COLOUR_BT601};
    }
    if (rgb) {
        said.matrix = COLOUR_RGB;
    }
    layout->colour = frame_colour_complete(said, otherwise);
}
