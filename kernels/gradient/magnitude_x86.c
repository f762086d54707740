// Both versions do the same with registers of different width:
//
// - gx and gy side by side in 16 bit lanes; the multiply-add of pairs squares and sums them.
// - With y the CPU's estimate of 1 / sqrt(n) and s = n y, Newton's step gives sqrt(n) as
//   s (3 - s y) / 2. The estimate is off by at most 1.5 / 2^12, its square leaves 2e-7, a tenth of
//   the distance of an integer n from the nearest rounding tie below 256.
// - Added to 1.5 * 2^24, where floats lie 2 apart, s (3 - s y) is rounded to a multiple of 2: the
//   low bits of the sum are round(sqrt(n)), at most 17310. For n = 0 the sum is 0 * infinity, a
//   NaN, whose low 16 bits are 0 as well.
// - Unpacking and packing both stay within 128 bit lanes, so only the last pack needs a permute.
//
// Why not the compiler: gcc 12 turns the plain loop into 32 bit multiplies and widening shuffles,
// and has no rounding by addition; `make bench` shows both.
#ifdef __x86_64__
#include "kernels/gradient/magnitude_x86.h"

#include "kernels/stage/compose.h"

#include <immintrin.h>
#include <string.h>

#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f,avx512bw")))
#define TARGET_avx2 AVX2
#define TARGET_avx512 AVX512

bool magnitude_has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

bool magnitude_has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
}

// The operators of magnitude.h in the 16 bit lanes of `vector`s at s and d; the products become
// shifts and sums where those are faster.
#define DEFINE_OPERATORS(make, vector, load, add, sub, mul, all)                                   \
    TARGET_##make static inline vector gx_3_##make(const int16_t *s)                               \
    {                                                                                              \
        return sub(load(s + 1), load(s - 1));                                                      \
    }                                                                                              \
                                                                                                   \
    TARGET_##make static inline vector gx_5_##make(const int16_t *s)                               \
    {                                                                                              \
        return add(sub(load(s + 2), load(s - 2)), mul(gx_3_##make(s), all(2)));                    \
    }                                                                                              \
                                                                                                   \
    TARGET_##make static inline vector sides_##make(const int16_t *d, size_t distance)             \
    {                                                                                              \
        return add(load(d - distance), load(d + distance));                                        \
    }                                                                                              \
                                                                                                   \
    TARGET_##make static inline vector gy_sobel_##make(const int16_t *d)                           \
    {                                                                                              \
        return add(sides_##make(d, 1), mul(load(d), all(2)));                                      \
    }                                                                                              \
                                                                                                   \
    TARGET_##make static inline vector gy_sobel5_##make(const int16_t *d)                          \
    {                                                                                              \
        return add(add(sides_##make(d, 2), mul(sides_##make(d, 1), all(4))),                       \
                   mul(load(d), all(6)));                                                          \
    }                                                                                              \
                                                                                                   \
    TARGET_##make static inline vector gy_scharr_##make(const int16_t *d)                          \
    {                                                                                              \
        return add(mul(sides_##make(d, 1), all(3)), mul(load(d), all(10)));                        \
    }                                                                                              \
                                                                                                   \
    TARGET_##make static inline vector gy_prewitt_##make(const int16_t *d)                         \
    {                                                                                              \
        return add(sides_##make(d, 1), load(d));                                                   \
    }

AVX2 static inline __m256i load_avx2(const int16_t *from)
{
    return _mm256_loadu_si256((const __m256i *)from);
}

DEFINE_OPERATORS(avx2, __m256i, load_avx2, _mm256_add_epi16, _mm256_sub_epi16, _mm256_mullo_epi16,
                 _mm256_set1_epi16)

// Rounded roots of 8 integers in the low halves of 32 bit lanes.
AVX2 static inline __m256i root_avx2(__m256i n)
{
    __m256 number = _mm256_cvtepi32_ps(n), y = _mm256_rsqrt_ps(number);
    __m256 s = _mm256_mul_ps(number, y);
    __m256 step = _mm256_fnmadd_ps(s, y, _mm256_set1_ps(3.0f));
    __m256 sum = _mm256_fmadd_ps(s, step, _mm256_set1_ps(0x1.8p24f));

    return _mm256_and_si256(_mm256_castps_si256(sum), _mm256_set1_epi32(0xffff));
}

// Magnitudes of 16 pixels in 16 bit lanes, at most 24480.
AVX2 static inline __m256i l2_avx2(__m256i gx, __m256i gy)
{
    __m256i low = _mm256_unpacklo_epi16(gx, gy), high = _mm256_unpackhi_epi16(gx, gy);

    return _mm256_packus_epi32(root_avx2(_mm256_madd_epi16(low, low)),
                               root_avx2(_mm256_madd_epi16(high, high)));
}

AVX2 static inline __m256i l1_avx2(__m256i gx, __m256i gy)
{
    return _mm256_add_epi16(_mm256_abs_epi16(gx), _mm256_abs_epi16(gy));
}

// 32 magnitudes in bytes.
AVX2 static inline __m256i full_avx2(__m256i first, __m256i second)
{
    return _mm256_permute4x64_epi64(_mm256_packus_epi16(first, second), _MM_SHUFFLE(3, 1, 2, 0));
}

AVX2 static inline __m256i limited_avx2(__m256i first, __m256i second)
{
    const __m256i factor = _mm256_set1_epi16(COMPOSE_FACTOR);
    __m256i lumas =
        full_avx2(_mm256_mulhrs_epi16(first, factor), _mm256_mulhrs_epi16(second, factor));

    return _mm256_add_epi8(_mm256_min_epu8(lumas, _mm256_set1_epi8((char)COMPOSE_REACH)),
                           _mm256_set1_epi8(COMPOSE_BLACK));
}

// The first `left` of 32 pixels.
AVX2 static inline void store_avx2(__m256i block, size_t left, uint8_t *output)
{
    if (left >= 32) {
        _mm256_storeu_si256((__m256i *)output, block);
    } else {
        memcpy(output, &block, left);
    }
}

#define DEFINE_ROW_AVX2(norm, range, operator, gx_at, gy_at)                                       \
    AVX2 void magnitude_##norm##_##range##_##operator##_avx2(                                      \
        const int16_t *restrict s, const int16_t *restrict d, size_t width,                        \
        uint8_t *restrict output)                                                                  \
    {                                                                                              \
        for (size_t x = 0; x < width; x += 32) {                                                   \
            __m256i first = norm##_avx2(gx_at(s + x), gy_at(d + x));                               \
            __m256i second = norm##_avx2(gx_at(s + x + 16), gy_at(d + x + 16));                    \
                                                                                                   \
            store_avx2(range##_avx2(first, second), width - x, output + x);                        \
        }                                                                                          \
    }

DEFINE_OPERATORS(avx512, __m512i, _mm512_loadu_si512, _mm512_add_epi16, _mm512_sub_epi16,
                 _mm512_mullo_epi16, _mm512_set1_epi16)

// Rounded roots of 16 integers in the low halves of 32 bit lanes.
AVX512 static inline __m512i root_avx512(__m512i n)
{
    __m512 number = _mm512_cvtepi32_ps(n), y = _mm512_rsqrt14_ps(number);
    __m512 s = _mm512_mul_ps(number, y);
    __m512 step = _mm512_fnmadd_ps(s, y, _mm512_set1_ps(3.0f));
    __m512 sum = _mm512_fmadd_ps(s, step, _mm512_set1_ps(0x1.8p24f));

    return _mm512_and_si512(_mm512_castps_si512(sum), _mm512_set1_epi32(0xffff));
}

// Magnitudes of 32 pixels in 16 bit lanes, at most 24480.
AVX512 static inline __m512i l2_avx512(__m512i gx, __m512i gy)
{
    __m512i low = _mm512_unpacklo_epi16(gx, gy), high = _mm512_unpackhi_epi16(gx, gy);

    return _mm512_packus_epi32(root_avx512(_mm512_madd_epi16(low, low)),
                               root_avx512(_mm512_madd_epi16(high, high)));
}

AVX512 static inline __m512i l1_avx512(__m512i gx, __m512i gy)
{
    return _mm512_add_epi16(_mm512_abs_epi16(gx), _mm512_abs_epi16(gy));
}

// 64 magnitudes in bytes.
AVX512 static inline __m512i full_avx512(__m512i first, __m512i second)
{
    const __m512i order = _mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0);

    return _mm512_permutexvar_epi64(order, _mm512_packus_epi16(first, second));
}

AVX512 static inline __m512i limited_avx512(__m512i first, __m512i second)
{
    const __m512i factor = _mm512_set1_epi16(COMPOSE_FACTOR);
    __m512i lumas =
        full_avx512(_mm512_mulhrs_epi16(first, factor), _mm512_mulhrs_epi16(second, factor));

    return _mm512_add_epi8(_mm512_min_epu8(lumas, _mm512_set1_epi8((char)COMPOSE_REACH)),
                           _mm512_set1_epi8(COMPOSE_BLACK));
}

// The first `left` of 64 pixels.
AVX512 static inline void store_avx512(__m512i block, size_t left, uint8_t *output)
{
    _mm512_mask_storeu_epi8(output, left >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << left) - 1, block);
}

#define DEFINE_ROW_AVX512(norm, range, operator, gx_at, gy_at)                                     \
    AVX512 void magnitude_##norm##_##range##_##operator##_avx512(                                  \
        const int16_t *restrict s, const int16_t *restrict d, size_t width,                        \
        uint8_t *restrict output)                                                                  \
    {                                                                                              \
        for (size_t x = 0; x < width; x += 64) {                                                   \
            __m512i first = norm##_avx512(gx_at(s + x), gy_at(d + x));                             \
            __m512i second = norm##_avx512(gx_at(s + x + 32), gy_at(d + x + 32));                  \
                                                                                                   \
            store_avx512(range##_avx512(first, second), width - x, output + x);                    \
        }                                                                                          \
    }

#define DEFINE_ROWS(define, operator, gx_at, gy_at)                                                \
    define(l2, full, operator, gx_at, gy_at) define(l2, limited, operator, gx_at, gy_at)           \
        define(l1, full, operator, gx_at, gy_at) define(l1, limited, operator, gx_at, gy_at)

DEFINE_ROWS(DEFINE_ROW_AVX2, sobel, gx_3_avx2, gy_sobel_avx2)
DEFINE_ROWS(DEFINE_ROW_AVX2, sobel5, gx_5_avx2, gy_sobel5_avx2)
DEFINE_ROWS(DEFINE_ROW_AVX2, scharr, gx_3_avx2, gy_scharr_avx2)
DEFINE_ROWS(DEFINE_ROW_AVX2, prewitt, gx_3_avx2, gy_prewitt_avx2)
DEFINE_ROWS(DEFINE_ROW_AVX512, sobel, gx_3_avx512, gy_sobel_avx512)
DEFINE_ROWS(DEFINE_ROW_AVX512, sobel5, gx_5_avx512, gy_sobel5_avx512)
DEFINE_ROWS(DEFINE_ROW_AVX512, scharr, gx_3_avx512, gy_scharr_avx512)
DEFINE_ROWS(DEFINE_ROW_AVX512, prewitt, gx_3_avx512, gy_prewitt_avx512)
#endif
