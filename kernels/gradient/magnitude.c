#include "kernels/gradient/magnitude.h"

#include "kernels/gradient/magnitude_x86.h"
#include "kernels/stage/compose.h"
#include "kernels/stage/simd.h"

#include <stdlib.h>

// gx and gy at the place that `s` and `d` point to; rounded to 16 bits, which hold them, so that
// the vectorizer stays in 16 bit lanes.
SIMD_INLINE int16_t gx_3(const int16_t *s)
{
    return (int16_t)(s[1] - s[-1]);
}

SIMD_INLINE int16_t gy_sobel(const int16_t *d)
{
    return (int16_t)(d[-1] + 2 * d[0] + d[1]);
}

SIMD_INLINE int16_t gy_scharr(const int16_t *d)
{
    return (int16_t)(3 * (d[-1] + d[1]) + 10 * d[0]);
}

SIMD_INLINE int16_t gy_prewitt(const int16_t *d)
{
    return (int16_t)(d[-1] + d[0] + d[1]);
}

SIMD_INLINE int16_t gx_5(const int16_t *s)
{
    return (int16_t)(s[2] - s[-2] + 2 * (s[1] - s[-1]));
}

SIMD_INLINE int16_t gy_sobel5(const int16_t *d)
{
    return (int16_t)(d[-2] + d[2] + 4 * (d[-1] + d[1]) + 6 * d[0]);
}

// The square root of n >= 0, 7e-7 off.
//
// A reciprocal root from the bits of the float (Moroz et al., "Modified Fast Inverse Square Root",
// 2018: 6.5e-4 off after their first step), then one Newton step.
SIMD_INLINE float root(int32_t n)
{
    union {
        float value;
        uint32_t bits;
    } number = {.value = (float)n}, guess = {.bits = 0x5f1ffff9 - (number.bits >> 1)};
    float y = guess.value;

    y *= 1.681915f - 0.703952253f * number.value * y * y;
    return number.value * y * (1.5f - 0.5f * number.value * y * y);
}

SIMD_INLINE int32_t square_sum(int16_t gx, int16_t gy)
{
    return gx * gx + gy * gy;
}

// The integer nearest to a number from 0 to 255.
SIMD_INLINE uint8_t near(float magnitude, float half)
{
    return (uint8_t)(int32_t)((magnitude < 255 ? magnitude : 255) + half);
}

// rint() of the smaller of a number >= 0 and 255: added to 1.5 * 2^52, where doubles lie 1 apart,
// it is rounded half to even.
SIMD_INLINE uint8_t round_exactly(double magnitude)
{
    return (uint8_t)(int32_t)((magnitude < 255 ? magnitude : 255) + 0x1.8p52 - 0x1.8p52);
}

// Float arithmetic is off by less than 2e-4 where results are below 256.
#define DOUBT 5e-4f

// An integer n comes no closer to a rounding tie than 1.9e-6 of its root below 256, so with gain 1
// the root rounds exactly, and the test tries them all.
SIMD_INLINE int16_t l2(int16_t gx, int16_t gy)
{
    return (int16_t)(int32_t)(root(square_sum(gx, gy)) + 0.5f);
}

SIMD_INLINE int16_t l1(int16_t gx, int16_t gy)
{
    return (int16_t)((gx < 0 ? -gx : gx) + (gy < 0 ? -gy : gy));
}

SIMD_INLINE uint8_t full(int16_t magnitude)
{
    return (uint8_t)(magnitude < 255 ? magnitude : 255);
}

SIMD_INLINE uint8_t limited(int16_t magnitude)
{
    return compose_luma((uint16_t)(magnitude < 255 ? magnitude : 255));
}

#define DEFINE_ROW(norm, range, operator, gx_at, gy_at)                                            \
    SIMD_CLONES                                                                                    \
    static void row_##norm##_##range##_##operator(const int16_t *restrict s,                       \
                                                  const int16_t *restrict d, size_t width,         \
                                                  uint8_t *restrict output)                        \
    {                                                                                              \
        for (size_t x = 0; x < width; x++) {                                                       \
            output[x] = range(norm(gx_at(s + x), gy_at(d + x)));                                   \
        }                                                                                          \
    }

#define DEFINE_ROWS(operator, gx_at, gy_at)                                                        \
    DEFINE_ROW(l2, full, operator, gx_at, gy_at)                                                   \
    DEFINE_ROW(l2, limited, operator, gx_at, gy_at)                                                \
    DEFINE_ROW(l1, full, operator, gx_at, gy_at)                                                   \
    DEFINE_ROW(l1, limited, operator, gx_at, gy_at)                                                \
                                                                                                   \
    SIMD_CLONES                                                                                    \
    static void scale_l1_##operator(const int16_t *restrict s, const int16_t *restrict d,          \
                                    size_t width, double gain, uint8_t *restrict output)           \
    {                                                                                              \
        for (size_t x = 0; x < width; x++) {                                                       \
            output[x] = round_exactly(gain * l1(gx_at(s + x), gy_at(d + x)));                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    SIMD_CLONES                                                                                    \
    static void scale_l2_##operator(const int16_t *restrict s, const int16_t *restrict d,          \
                                    size_t width, float gain, struct magnitude_guess guess)        \
    {                                                                                              \
        uint32_t *restrict squares = guess.squares;                                                \
        uint8_t *restrict results = guess.results, *restrict doubts = guess.doubts;                \
                                                                                                   \
        for (size_t x = 0; x < width; x++) {                                                       \
            int32_t n = square_sum(gx_at(s + x), gy_at(d + x));                                    \
            float magnitude = gain * root(n);                                                      \
                                                                                                   \
            squares[x] = (uint32_t)n;                                                              \
            results[x] = near(magnitude, 0.5f - DOUBT);                                            \
            doubts[x] = (uint8_t)(near(magnitude, 0.5f + DOUBT) - results[x]);                     \
        }                                                                                          \
    }

DEFINE_ROWS(sobel, gx_3, gy_sobel)
DEFINE_ROWS(sobel5, gx_5, gy_sobel5)
DEFINE_ROWS(scharr, gx_3, gy_scharr)
DEFINE_ROWS(prewitt, gx_3, gy_prewitt)

#define EACH_OPERATOR(prefix, suffix)                                                              \
    {                                                                                              \
        [CONFIG_OPERATOR_SOBEL] = prefix##sobel##suffix,                                           \
        [CONFIG_OPERATOR_SOBEL5] = prefix##sobel5##suffix,                                         \
        [CONFIG_OPERATOR_SCHARR] = prefix##scharr##suffix,                                         \
        [CONFIG_OPERATOR_PREWITT] = prefix##prewitt##suffix,                                       \
    }
#define EACH_NORM(prefix, range, suffix)                                                           \
    {                                                                                              \
        [CONFIG_NORM_L2] = EACH_OPERATOR(prefix##l2_##range##_, suffix),                           \
        [CONFIG_NORM_L1] = EACH_OPERATOR(prefix##l1_##range##_, suffix),                           \
    }
#define EACH_RANGE(prefix, suffix)                                                                 \
    EACH_NORM(prefix, full, suffix), EACH_NORM(prefix, limited, suffix)

magnitude_scale_l1 *magnitude_scale_l1_for(enum config_operator operator)
{
    static magnitude_scale_l1 *const table[CONFIG_OPERATOR_COUNT] = EACH_OPERATOR(scale_l1_, );

    return table[operator];
}

magnitude_scale_l2 *magnitude_scale_l2_for(enum config_operator operator)
{
    static magnitude_scale_l2 *const table[CONFIG_OPERATOR_COUNT] = EACH_OPERATOR(scale_l2_, );

    return table[operator];
}

#define DEFINE_SLOPES(operator, gx_at, gy_at)                                                      \
    SIMD_CLONES                                                                                    \
    static void slopes_##operator(const int16_t *restrict s, const int16_t *restrict d,            \
                                  size_t width, int16_t *restrict gx, int16_t *restrict gy)        \
    {                                                                                              \
        for (size_t x = 0; x < width; x++) {                                                       \
            gx[x] = gx_at(s + x);                                                                  \
            gy[x] = gy_at(d + x);                                                                  \
        }                                                                                          \
    }

DEFINE_SLOPES(sobel, gx_3, gy_sobel)
DEFINE_SLOPES(sobel5, gx_5, gy_sobel5)
DEFINE_SLOPES(scharr, gx_3, gy_scharr)
DEFINE_SLOPES(prewitt, gx_3, gy_prewitt)

magnitude_slopes *magnitude_slopes_for(enum config_operator operator)
{
    static magnitude_slopes *const table[CONFIG_OPERATOR_COUNT] = EACH_OPERATOR(slopes_, );

    return table[operator];
}

static bool always(void)
{
    return true;
}

static const struct magnitude_version versions[] = {
#ifdef __x86_64__
    {"avx512", magnitude_has_avx512, EACH_RANGE(magnitude_, _avx512)},
    {"avx2", magnitude_has_avx2, EACH_RANGE(magnitude_, _avx2)},
#endif
    {"plain", always, EACH_RANGE(row_, )},
};

const struct magnitude_version *magnitude_version_at(size_t index)
{
    return index < sizeof versions / sizeof versions[0] ? &versions[index] : NULL;
}

const struct magnitude_version *magnitude_version_best(void)
{
    const struct magnitude_version *version = versions;

    while (!version->supported()) {
        version++;
    }
    return version;
}
