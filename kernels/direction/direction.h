// Row stage, the last of its view: gray rows to the direction of their gradient as a hue, and its
// magnitude as brightness.
//
// gx, gy and the magnitude m are the gradient's (gradient.h), for every operator, norm and gain.
// The direction is the angle of (gx, gy): 0 where it gets brighter to the right, 90 degrees where
// it gets brighter downwards. In integers:
//
//   s = max(|gx| + |gy|, 1)    step = floor(126 gy / s + 1/2)
//   angle = atan2(step, +-(126 - |step|)), the sign that of gx
//   hue = round(1536 angle / 360 degrees) modulo 1536
//
// so 504 directions, whose hue is at most 0.58 degrees off the exact angle. (gx, gy) / s is a point
// of the square with corners on the axes: its side is cut into steps, which takes a division and no
// comparison of gx with gy. The hue's colour at full strength, red, green and blue in 256ths, is
// HSV's (A. R. Smith, "Color gamut transform pairs", 1978): red at 0, yellow at 256, green at 512,
// cyan at 768, blue at 1024, magenta at 1280, with straight lines in between. To YUV it goes by
// the factors of colour.h, of limited range and the matrix of the camera's picture, rounded to odd
// numbers, of 2048ths for Y and of 4096ths for U and V. By BT.601: l_y =
// 2 floor((269484 w_red + 528482 w_green + 102760 w_blue) / 2^18) + 1 and so on, 2^17 for U and V.
// Odd, so that no product with m is half way between two integers: however a machine rounds, it
// rounds to the same; and of 11 bits, so that halves hold them.
//
// - To RGB3: (m w + 128) >> 8 of each.
// - To NV12, limited range: Y = 16 + m l_y / 2048 rounded, and U, V with 128 for 16 and
//   4096 for 2048, of the top left pixel of two by two.
#pragma once

#include "kernels/gradient/gradient.h"

// Directions are numbered step + 126 + 256 (gx < 0); the numbers that are left are none.
#define DIRECTION_STEPS 126
#define DIRECTION_COUNT 512
// Factors of Y are in 2^-11, those of U and V in 2^-12.
#define DIRECTION_Y_BITS 11
#define DIRECTION_UV_BITS 12

struct direction_colours;
struct frame;
struct frame_layout;

struct direction {
    struct gradient gradient;
    const struct direction_colours *colours; // static
    struct frame *output;                    // not owned; of the frame being computed
};

// Of every direction what m is multiplied with.
struct direction_colours {
    int32_t red[DIRECTION_COUNT], green[DIRECTION_COUNT], blue[DIRECTION_COUNT]; // 0..256
    int32_t y[DIRECTION_COUNT], u[DIRECTION_COUNT], v[DIRECTION_COUNT];
};

// By the matrix of the camera's picture, BT.601 if it is RGB; static.
const struct direction_colours *direction_colours(const struct frame_layout *camera);

extern const struct stage_ops direction_ops;
