#include "kernels/colour.h"

struct weights {
    int32_t red, green, blue, base;
};

static uint8_t weigh(const struct weights *weights, const uint8_t rgb[3])
{
    int32_t sum = weights->red * rgb[0] + weights->green * rgb[1] + weights->blue * rgb[2];
    int32_t value = (sum + (weights->base << 20) + (1 << 19)) >> 20;

    return (uint8_t)(value < 255 ? value : 255);
}

struct colour_yuv colour_to_yuv(const uint8_t rgb[3], enum frame_range range)
{
    static const struct weights weights[][3] = {
        [FRAME_RANGE_LIMITED] = {{269484, 528482, 102760, 16},
                                 {-155188, -305135, 460324, 128},
                                 {460324, -385875, -74448, 128}},
        [FRAME_RANGE_FULL] = {{313524, 615514, 119538, 0},
                              {-176932, -347356, 524288, 128},
                              {524288, -439026, -85262, 128}},
    };
    const struct weights *of = weights[range];

    return (struct colour_yuv){weigh(&of[0], rgb), weigh(&of[1], rgb), weigh(&of[2], rgb)};
}
