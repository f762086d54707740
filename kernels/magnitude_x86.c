// Both makes do the same with registers of different width:
//
// - gx and gy side by side in 16 bit lanes; the multiply-add of pairs squares and sums them.
// - With y the CPU's estimate of 1 / sqrt(n) and s = n y, Newton's step gives sqrt(n) as
//   s (3 - s y) / 2. The estimate is off by at most 1.5 / 2^12, its square leaves 2e-7, a tenth of
//   the distance of an integer n from the nearest rounding tie below 256.
// - Added to 1.5 * 2^24, where floats lie 2 apart, s (3 - s y) is rounded to a multiple of 2: the
//   low bits of the sum are round(sqrt(n)), at most 1443. For n = 0 the sum is 0 * infinity, a NaN,
//   whose low 16 bits are 0 as well.
// - Unpacking and packing both stay within 128 bit lanes, so only the last pack needs a permute.
//
// Why not the compiler: gcc 12 turns the plain loop into 32 bit multiplies and widening shuffles,
// and has no rounding by addition; `make bench` shows both.
#ifdef __x86_64__
#include "kernels/magnitude_x86.h"

#include <immintrin.h>
#include <string.h>

#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f,avx512bw")))

bool magnitude_has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

bool magnitude_has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
}

// Rounded roots of 8 integers in the low halves of 32 bit lanes.
AVX2 static inline __m256i root_avx2(__m256i n)
{
    __m256 number = _mm256_cvtepi32_ps(n), y = _mm256_rsqrt_ps(number);
    __m256 s = _mm256_mul_ps(number, y);
    __m256 step = _mm256_fnmadd_ps(s, y, _mm256_set1_ps(3.0f));
    __m256 sum = _mm256_fmadd_ps(s, step, _mm256_set1_ps(0x1.8p24f));

    return _mm256_and_si256(_mm256_castps_si256(sum), _mm256_set1_epi32(0xffff));
}

// Magnitudes of 16 pixels in 16 bit lanes.
AVX2 static inline __m256i magnitudes_avx2(const int16_t *sums, const int16_t *differences)
{
    __m256i left = _mm256_loadu_si256((const __m256i *)(sums - 1));
    __m256i right = _mm256_loadu_si256((const __m256i *)(sums + 1));
    __m256i d0 = _mm256_loadu_si256((const __m256i *)(differences - 1));
    __m256i d1 = _mm256_loadu_si256((const __m256i *)differences);
    __m256i d2 = _mm256_loadu_si256((const __m256i *)(differences + 1));
    __m256i gx = _mm256_sub_epi16(right, left);
    __m256i gy = _mm256_add_epi16(_mm256_add_epi16(d0, d2), _mm256_add_epi16(d1, d1));
    __m256i low = _mm256_unpacklo_epi16(gx, gy), high = _mm256_unpackhi_epi16(gx, gy);

    return _mm256_packus_epi32(root_avx2(_mm256_madd_epi16(low, low)),
                               root_avx2(_mm256_madd_epi16(high, high)));
}

AVX2 void magnitude_row_avx2(const int16_t *restrict sums, const int16_t *restrict differences,
                             size_t width, uint8_t *restrict output)
{
    for (size_t x = 0; x < width; x += 32) {
        __m256i mixed = _mm256_packus_epi16(magnitudes_avx2(sums + x, differences + x),
                                            magnitudes_avx2(sums + x + 16, differences + x + 16));
        __m256i block = _mm256_permute4x64_epi64(mixed, _MM_SHUFFLE(3, 1, 2, 0));

        if (width - x >= 32) {
            _mm256_storeu_si256((__m256i *)(output + x), block);
        } else {
            memcpy(output + x, &block, width - x);
        }
    }
}

// Rounded roots of 16 integers in the low halves of 32 bit lanes.
AVX512 static inline __m512i root_avx512(__m512i n)
{
    __m512 number = _mm512_cvtepi32_ps(n), y = _mm512_rsqrt14_ps(number);
    __m512 s = _mm512_mul_ps(number, y);
    __m512 step = _mm512_fnmadd_ps(s, y, _mm512_set1_ps(3.0f));
    __m512 sum = _mm512_fmadd_ps(s, step, _mm512_set1_ps(0x1.8p24f));

    return _mm512_and_si512(_mm512_castps_si512(sum), _mm512_set1_epi32(0xffff));
}

// Magnitudes of 32 pixels in 16 bit lanes.
AVX512 static inline __m512i magnitudes_avx512(const int16_t *sums, const int16_t *differences)
{
    __m512i gx = _mm512_sub_epi16(_mm512_loadu_si512(sums + 1), _mm512_loadu_si512(sums - 1));
    __m512i d1 = _mm512_loadu_si512(differences);
    __m512i outer =
        _mm512_add_epi16(_mm512_loadu_si512(differences - 1), _mm512_loadu_si512(differences + 1));
    __m512i gy = _mm512_add_epi16(outer, _mm512_add_epi16(d1, d1));
    __m512i low = _mm512_unpacklo_epi16(gx, gy), high = _mm512_unpackhi_epi16(gx, gy);

    return _mm512_packus_epi32(root_avx512(_mm512_madd_epi16(low, low)),
                               root_avx512(_mm512_madd_epi16(high, high)));
}

AVX512 void magnitude_row_avx512(const int16_t *restrict sums, const int16_t *restrict differences,
                                 size_t width, uint8_t *restrict output)
{
    const __m512i order = _mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0);

    for (size_t x = 0; x < width; x += 64) {
        __m512i mixed = _mm512_packus_epi16(magnitudes_avx512(sums + x, differences + x),
                                            magnitudes_avx512(sums + x + 32, differences + x + 32));
        __m512i block = _mm512_permutexvar_epi64(order, mixed);
        __mmask64 mask = width - x >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << (width - x)) - 1;

        _mm512_mask_storeu_epi8(output + x, mask, block);
    }
}
#endif
