// One RGB colour as YUV by BT.601, in 20 bits, rounded by 1 << 19 and limited to 255.
//
// Limited range as convert.h has it; full range, JFIF's:
//   Y = (313524 R + 615514 G + 119538 B) >> 20
//   U = 128 + (-176932 R - 347356 G + 524288 B) >> 20
//   V = 128 + (524288 R - 439026 G - 85262 B) >> 20
#pragma once

#include "capture/frame.h"

struct colour_yuv {
    uint8_t y, u, v;
};

// `rgb` is red, green, blue.
struct colour_yuv colour_to_yuv(const uint8_t rgb[3], enum frame_range range);
