// Row stage, the last of its view: a mask's rows to the rows of the camera's picture with the mask
// marked in it. A mask is 0 or 255 at every pixel; where it is 255 the pixel (R, G, B) becomes
//
//   (255, G >> 1, B >> 1)    "tint": shows on white, too
//   (255, G, B)              "red": R = max(R, mask)
//
// - To RGB3: the picture as convert.h has it, GREY as R = G = B; then the mark.
// - RGB to NV12: the mark first, then convert.h; so chroma follows the top left pixel of two by
//   two.
// - YUV to NV12: convert.h first. Then each masked pixel, with the chroma of its two by two,
//   becomes RGB by its matrix (colour.h), is marked, and becomes YUV again; chroma changes where
//   the top left pixel of two by two is masked. Everything else stays as it is, bit for bit. In 20
//   bits, rounded by 1 << 19, G and B limited to 0..255 before they are halved, the results to 255:
//   BT.601 limited range, as OpenCV's COLOR_YUV2RGB_NV12 and, back, convert.h:
//     G = (1220542 max(Y - 16, 0) - 409993 (U - 128) - 852492 (V - 128)) >> 20
//     B = (1220542 max(Y - 16, 0) + 2116026 (U - 128)) >> 20
//   BT.601 full range, JFIF's:
//     G = (1048576 Y - 360853 (U - 128) - 748826 (V - 128)) >> 20
//     B = (1048576 Y + 1858077 (U - 128)) >> 20
//     Y = (313524 R + 615514 G + 119538 B) >> 20
//     U = 128 + (-176932 R - 347356 G + 524288 B) >> 20
//     V = 128 + (524288 R - 439026 G - 85262 B) >> 20
#pragma once

#include "kernels/overlay/paint.h"

#include "capture/frame.h"
#include "config/config.h"

struct mark;

// YUV to green and blue, and those with a red of 255 to YUV: factors in 20 bits.
struct mark_space {
    int32_t black, luma, u_green, v_green, u_blue;
    struct {
        int32_t constant, green, blue;
    } y, u, v;
};

// By colour.h, of the NV12 that a camera's picture is painted in.
struct mark_space mark_space_of(const struct frame_layout *camera);

// Row `y` of the output frame, from the input frame and the mask's row.
typedef void mark_rows(const struct mark *mark, const uint8_t *mask, uint32_t y, void *scratch);

// Bits that green and blue of a marked pixel lose.
static inline unsigned mark_shift(enum config_mark mark)
{
    return mark == CONFIG_MARK_TINT ? 1 : 0;
}

struct mark {
    struct paint paint;
    mark_rows *rows;
    unsigned shift;
    struct mark_space space;  // of YUV
    struct frame_layout line; // of a picture of one row, RGB
};

extern const struct stage_ops mark_ops;
