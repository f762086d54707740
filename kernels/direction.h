// Row stage, the last of its view: gray rows to the direction of their gradient as a hue, and its
// magnitude as brightness.
//
// gx, gy and the magnitude m are the gradient's (gradient.h), for every operator, norm and gain.
// The direction is the angle of (gx, gy): 0 where it gets brighter to the right, 90 degrees where
// it gets brighter downwards. In integers:
//
//   low = min(|gx|, |gy|)    high = max(|gx|, |gy|)
//   step = (128 low + high) / (2 high), which is 64 low / high rounded half up; 0 if high = 0
//   angle = atan2(+-step, +-64) if |gy| <= |gx|, else atan2(+-64, +-step), in the signs of gx, gy
//   hue = round(1536 angle / 360 degrees) modulo 1536
//
// so 520 directions, whose hue is at most 0.57 degrees off the exact angle. The hue's colour at
// full strength, red, green and blue in 256ths, is HSV's (A. R. Smith, "Color gamut transform
// pairs", 1978): red at 0, yellow at 256, green at 512, cyan at 768, blue at 1024, magenta at 1280,
// with straight lines in between. Of a colour w and its YUV by convert.h's factors,
// l = (269484 w_red + 528482 w_green + 102760 w_blue + 2048) >> 12 and so on:
//
// - To RGB3: (m w + 128) >> 8 of each.
// - To NV12, limited range: Y = (m l_y + (16 << 16) + (1 << 15)) >> 16 and U, V with 128 for 16, of
//   the top left pixel of two by two.
#pragma once

#include "kernels/gradient.h"

// Directions are numbered 8 step + 4 (|gy| > |gx|) + 2 (gy < 0) + (gx < 0).
#define DIRECTION_STEPS 64
#define DIRECTION_COUNT (8 * (DIRECTION_STEPS + 1))

struct frame;

struct direction {
    struct gradient gradient;
    magnitude_slopes *slopes;
    struct frame *output; // not owned; of the frame being computed
};

// Of every direction what m is multiplied with.
struct direction_colours {
    int32_t red[DIRECTION_COUNT], green[DIRECTION_COUNT], blue[DIRECTION_COUNT]; // 0..256
    int32_t y[DIRECTION_COUNT], u[DIRECTION_COUNT], v[DIRECTION_COUNT];          // in 2^-16
};

// The definition: the number of the direction of (gx, gy), neither over GRADIENT_REACH.
unsigned direction_of(int gx, int gy);
// Static.
const struct direction_colours *direction_colours(void);

extern const struct stage_ops direction_ops;
