// Between RGB and YUV, in 20 bits, rounded by 1 << 19, results limited to 0..255.
//
// BT.601 limited range is convert.h's, and back OpenCV's COLOR_YUV2RGB_NV12. Everything else is
// ITU-T H.273's: with Kr and Kb of the matrix, Kg = 1 - Kr - Kb, and for limited range 16, 219 /
// 255 and 224 / 255 in the place of 0, 1 and 1:
//   Y = 0 + 1 (Kr R + Kg G + Kb B)
//   U = 128 + 1 (B - Y) / (2 - 2 Kb)    V = 128 + 1 (R - Y) / (2 - 2 Kr)
// Green takes what rounding leaves, so that gray has no chroma.
#pragma once

#include "capture/frame.h"

struct colour_yuv {
    uint8_t y, u, v;
};

struct colour_space {
    int32_t black;            // Y of it
    int32_t y[3], u[3], v[3]; // factors of red, green and blue
    // Of green and blue: factors of Y - black, U - 128 and V - 128.
    int32_t luma, u_green, v_green, u_blue;
};

// The matrices that there are formulas for are numbered; any other is taken for BT.601.
#define COLOUR_MATRIX_COUNT 5
#define COLOUR_MATRIX_BT601 0
// `matrix` is H.273's.
unsigned colour_matrix_number(uint32_t matrix);

// Kr and Kb of a matrix.
struct colour_weights {
    double red, blue;
};
struct colour_weights colour_weights_of(uint32_t matrix);

struct colour_space colour_space_of(unsigned matrix_number, enum frame_range range);
// Of the NV12 that views show a camera's picture in: RGB becomes limited range.
struct colour_space colour_space_of_camera(const struct frame_layout *camera);

// `rgb` is red, green, blue.
struct colour_yuv colour_to_yuv(const struct colour_space *space, const uint8_t rgb[3]);
