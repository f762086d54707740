#include "kernels/convert/colour.h"

#include <math.h>

#define BITS 20

static const struct colour_space bt601_limited = {
    .black = 16,
    .y = {269484, 528482, 102760},
    .u = {-155188, -305135, 460324},
    .v = {460324, -385875, -74448},
    .luma = 1220542,
    .u_green = -409993,
    .v_green = -852492,
    .u_blue = 2116026,
};

static const struct colour_weights weights[COLOUR_MATRIX_COUNT] = {
    [COLOUR_MATRIX_BT601] = {0.299, 0.114}, // H.273 5 and 6
    {0.2126, 0.0722},                       // 1, BT.709
    {0.30, 0.11},                           // 4, FCC
    {0.212, 0.087},                         // 7, SMPTE 240M
    {0.2627, 0.0593},                       // 9 and 10, BT.2020
};

unsigned colour_matrix_number(uint32_t matrix)
{
    static const uint8_t numbers[] = {[1] = 1, [4] = 2, [7] = 3, [9] = 4, [10] = 4};

    return matrix < sizeof numbers ? numbers[matrix] : COLOUR_MATRIX_BT601;
}

struct colour_weights colour_weights_of(uint32_t matrix)
{
    return weights[colour_matrix_number(matrix)];
}

static int32_t fixed(double factor)
{
    return (int32_t)lrint(ldexp(factor, BITS));
}

// Three factors that add up to `sum`, those of red and blue being given.
static void set_factors(int32_t factors[3], double red, double blue, double sum)
{
    factors[0] = fixed(red);
    factors[2] = fixed(blue);
    factors[1] = fixed(sum) - factors[0] - factors[2];
}

struct colour_space colour_space_of(unsigned matrix_number, enum frame_range range)
{
    bool full = range == FRAME_RANGE_FULL;
    double luma = full ? 1 : 219.0 / 255, chroma = full ? 1 : 224.0 / 255;
    double red = weights[matrix_number].red, blue = weights[matrix_number].blue;
    double green = 1 - red - blue, u = 2 - 2 * blue, v = 2 - 2 * red;
    struct colour_space space = {.black = full ? 0 : 16};

    if (matrix_number == COLOUR_MATRIX_BT601 && !full)
        return bt601_limited;
    set_factors(space.y, luma * red, luma * blue, luma);
    set_factors(space.u, -chroma * red / u, chroma / 2, 0);
    set_factors(space.v, chroma / 2, -chroma * blue / v, 0);
    space.luma = fixed(1 / luma);
    space.u_blue = fixed(u / chroma);
    space.u_green = fixed(-u * blue / green / chroma);
    space.v_green = fixed(-v * red / green / chroma);
    return space;
}

struct colour_space colour_space_of_camera(const struct frame_layout *camera)
{
    bool rgb = camera->format->luma_step == 0;

    return colour_space_of(colour_matrix_number(frame_colour_yuv(camera->colour).matrix),
                           rgb ? FRAME_RANGE_LIMITED : camera->range);
}

static uint8_t weigh(const int32_t factors[3], const uint8_t rgb[3], int32_t base)
{
    int32_t sum = factors[0] * rgb[0] + factors[1] * rgb[1] + factors[2] * rgb[2];
    int32_t value = (sum + (base << BITS) + (1 << (BITS - 1))) >> BITS;

    return (uint8_t)(value < 255 ? value : 255);
}

struct colour_yuv colour_to_yuv(const struct colour_space *space, const uint8_t rgb[3])
{
    return (struct colour_yuv){weigh(space->y, rgb, space->black), weigh(space->u, rgb, 128),
                               weigh(space->v, rgb, 128)};
}
