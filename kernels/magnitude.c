#include "kernels/magnitude.h"

#include "kernels/magnitude_x86.h"
#include "kernels/simd.h"

#include <stdlib.h>

SIMD_INLINE int16_t gradient_x(const int16_t *sums, size_t x)
{
    return (int16_t)(sums[x + 2] - sums[x]);
}

SIMD_INLINE int16_t gradient_y(const int16_t *differences, size_t x)
{
    return (int16_t)(differences[x] + 2 * differences[x + 1] + differences[x + 2]);
}

// Rounded square root of n, 0 <= n < 2^22, exact up to 255 and at least 255 above.
//
// A reciprocal root from the bits of the float (Moroz et al., "Modified Fast Inverse Square Root",
// 2018: 6.5e-4 off after their first step), then one Newton step: 7e-7 off. An integer n comes no
// closer to a rounding tie than 1.9e-6 of its root below 256, and the test tries them all.
SIMD_INLINE int32_t root(int32_t n)
{
    union {
        float value;
        uint32_t bits;
    } number = {.value = (float)n}, guess = {.bits = 0x5f1ffff9 - (number.bits >> 1)};
    float y = guess.value;

    y *= 1.681915f - 0.703952253f * number.value * y * y;
    y = number.value * y * (1.5f - 0.5f * number.value * y * y);
    return (int32_t)(y + 0.5f);
}

SIMD_CLONES
static void magnitude_row_plain(const int16_t *restrict sums, const int16_t *restrict differences,
                                size_t width, uint8_t *restrict output)
{
    const int16_t *s = sums - 1, *d = differences - 1;

    for (size_t x = 0; x < width; x++) {
        int16_t gx = gradient_x(s, x), gy = gradient_y(d, x);
        int32_t magnitude = root(gx * gx + gy * gy);

        output[x] = (uint8_t)(magnitude < 255 ? magnitude : 255);
    }
}

SIMD_CLONES
static void add_row(const int16_t *restrict sums, const int16_t *restrict differences, size_t width,
                    uint8_t *restrict output)
{
    const int16_t *s = sums - 1, *d = differences - 1;

    for (size_t x = 0; x < width; x++) {
        int16_t gx = gradient_x(s, x), gy = gradient_y(d, x);
        int16_t magnitude = (int16_t)((gx < 0 ? -gx : gx) + (gy < 0 ? -gy : gy));

        output[x] = (uint8_t)(magnitude < 255 ? magnitude : 255);
    }
}

void magnitude_row_l1(const int16_t *restrict sums, const int16_t *restrict differences,
                      size_t width, uint8_t *restrict output)
{
    add_row(sums, differences, width, output);
}

static bool always(void)
{
    return true;
}

static const struct magnitude_make makes[] = {
#ifdef __x86_64__
    {"avx512", magnitude_has_avx512, magnitude_row_avx512},
    {"avx2", magnitude_has_avx2, magnitude_row_avx2},
#endif
    {"plain", always, magnitude_row_plain},
};

const struct magnitude_make *magnitude_make_at(size_t index)
{
    return index < sizeof makes / sizeof makes[0] ? &makes[index] : NULL;
}

const struct magnitude_make *magnitude_make_best(void)
{
    const struct magnitude_make *make = makes;

    while (!make->supported()) {
        make++;
    }
    return make;
}
