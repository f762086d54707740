#include "capture/frame_colour.h"

#define HD_LINES 720

struct frame_colour frame_colour_default(bool rgb, uint32_t height)
{
    uint32_t yuv = height < HD_LINES ? COLOUR_BT601 : COLOUR_BT709;

    return rgb ? (struct frame_colour){COLOUR_BT709, COLOUR_SRGB, COLOUR_RGB}
               : (struct frame_colour){yuv, yuv, yuv};
}

static uint32_t complete(uint32_t said, uint32_t otherwise)
{
    return said == COLOUR_UNSPECIFIED ? otherwise : said;
}

struct frame_colour frame_colour_complete(struct frame_colour said, struct frame_colour otherwise)
{
    return (struct frame_colour){complete(said.primaries, otherwise.primaries),
                                 complete(said.transfer, otherwise.transfer),
                                 complete(said.matrix, otherwise.matrix)};
}

struct frame_colour frame_colour_yuv(struct frame_colour colour)
{
    if (colour.matrix == COLOUR_RGB) {
        colour.matrix = COLOUR_BT601;
    }
    return colour;
}

bool frame_colour_equal(struct frame_colour a, struct frame_colour b)
{
    return a.primaries == b.primaries && a.transfer == b.transfer && a.matrix == b.matrix;
}
