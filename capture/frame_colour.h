// What the code values of a picture mean as colours, in the numbers of ITU-T H.273, which H.264 and
// MP4 carry as they are.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// The numbers that edged chooses by itself; sources may say others.
enum {
    COLOUR_RGB = 0,         // matrix: none, the values are red, green and blue
    COLOUR_BT709 = 1,       // primaries (sRGB's, too), transfer, matrix
    COLOUR_UNSPECIFIED = 2, // primaries, transfer, matrix
    COLOUR_BT601 = 6,       // primaries, transfer, matrix
    COLOUR_SRGB = 13,       // transfer
};

struct frame_colour {
    uint32_t primaries, transfer, matrix;
};

// What pictures are whose source says nothing: sRGB if they are RGB, else BT.601 below 720 lines
// and BT.709 from there on.
struct frame_colour frame_colour_default(bool rgb, uint32_t height);
// `said` with what is unspecified in it taken from `otherwise`.
struct frame_colour frame_colour_complete(struct frame_colour said, struct frame_colour otherwise);
// What a picture of `colour` is once it is YUV: RGB becomes YUV by the matrix of BT.601, whatever
// its size.
struct frame_colour frame_colour_yuv(struct frame_colour colour);
bool frame_colour_equal(struct frame_colour a, struct frame_colour b);
