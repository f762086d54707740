// The loops of suppress.c by AVX2 and AVX-512 instructions.
//
// - gx and gy side by side in 16 bit lanes; the multiply-add of pairs squares and sums them, and
//   two permutations put them back in order. Twice the gradient makes 4 n of it.
// - AVX2 compares with all eight neighbours and chooses by the direction's bits, moved to the sign;
//   AVX-512 chooses neighbours by masked loads and compares with two.
//
// Why not the compiler: gcc 12 multiplies in 32 bits, and carries every comparison through bytes
// and a multiplication to get at its bit. tests/unit/kernels/test_suppress.c holds all makes to one
// definition.
#ifdef __x86_64__
#include "kernels/canny/suppress_x86.h"

#include "kernels/canny/suppress.h"

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f,avx512bw")))

bool suppress_has_avx2(void)
{
    return __builtin_cpu_supports("avx2");
}

bool suppress_has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
}

AVX2 static inline __m256i directions_avx2(__m256i gx, __m256i gy)
{
    __m256i x = _mm256_abs_epi16(gx), y = _mm256_abs_epi16(gy);
    __m256i flat = _mm256_mulhi_epu16(x, _mm256_set1_epi16(SUPPRESS_TANGENT));
    __m256i not_flat = _mm256_cmpgt_epi16(y, flat);
    __m256i steep = _mm256_cmpgt_epi16(y, _mm256_add_epi16(flat, _mm256_add_epi16(x, x)));
    __m256i opposite = _mm256_srai_epi16(_mm256_xor_si256(gx, gy), 15);
    __m256i odd = _mm256_or_si256(steep, _mm256_and_si256(not_flat, opposite));
    __m256i diagonal = _mm256_xor_si256(not_flat, steep);

    return _mm256_sub_epi16(_mm256_and_si256(diagonal, _mm256_set1_epi16(SUPPRESS_FALLING)), odd);
}

// Gradients of 16 pixels; returns their larger halves.
AVX2 static inline __m256i combine_16_avx2(const int16_t *s, const int16_t *d, int32_t *row)
{
    __m256i left = _mm256_loadu_si256((const __m256i *)(s - 1));
    __m256i right = _mm256_loadu_si256((const __m256i *)(s + 1));
    __m256i d0 = _mm256_loadu_si256((const __m256i *)(d - 1));
    __m256i d1 = _mm256_loadu_si256((const __m256i *)d);
    __m256i d2 = _mm256_loadu_si256((const __m256i *)(d + 1));
    __m256i gx = _mm256_sub_epi16(right, left);
    __m256i gy = _mm256_add_epi16(_mm256_add_epi16(d0, d2), _mm256_add_epi16(d1, d1));
    __m256i to = directions_avx2(gx, gy), zero = _mm256_setzero_si256();
    __m256i gx2 = _mm256_add_epi16(gx, gx), gy2 = _mm256_add_epi16(gy, gy);
    __m256i low = _mm256_unpacklo_epi16(gx2, gy2), high = _mm256_unpackhi_epi16(gx2, gy2);

    low = _mm256_or_si256(_mm256_madd_epi16(low, low), _mm256_unpacklo_epi16(to, zero));
    high = _mm256_or_si256(_mm256_madd_epi16(high, high), _mm256_unpackhi_epi16(to, zero));
    _mm256_storeu_si256((__m256i *)row, _mm256_permute2x128_si256(low, high, 0x20));
    _mm256_storeu_si256((__m256i *)(row + 8), _mm256_permute2x128_si256(low, high, 0x31));
    return _mm256_max_epi32(low, high);
}

AVX2 static inline int32_t largest_avx2(__m256i values)
{
    __m128i four =
        _mm_max_epi32(_mm256_castsi256_si128(values), _mm256_extracti128_si256(values, 1));
    __m128i two = _mm_max_epi32(four, _mm_shuffle_epi32(four, _MM_SHUFFLE(1, 0, 3, 2)));

    return _mm_cvtsi128_si32(_mm_max_epi32(two, _mm_shuffle_epi32(two, _MM_SHUFFLE(2, 3, 0, 1))));
}

AVX2 void suppress_combine_avx2(const int16_t *restrict sums, const int16_t *restrict differences,
                                size_t blocks, int32_t *restrict gradients, int32_t *restrict peaks)
{
    for (size_t i = 0; i < blocks; i++) {
        __m256i peak = _mm256_setzero_si256();

        for (size_t x = i * SUPPRESS_BLOCK; x < (i + 1) * SUPPRESS_BLOCK; x += 16) {
            peak =
                _mm256_max_epi32(peak, combine_16_avx2(sums + x, differences + x, gradients + x));
        }
        peaks[i] = largest_avx2(peak);
    }
}

AVX2 static inline __m256i gradients_avx2(const int32_t *at)
{
    return _mm256_loadu_si256((const __m256i *)at);
}

// Where least > *before, and *after is not larger than `rival`.
AVX2 static inline __m256 maxima_avx2(__m256i least, const int32_t *before, __m256i rival,
                                      const int32_t *after)
{
    return _mm256_castsi256_ps(
        _mm256_andnot_si256(_mm256_cmpgt_epi32(gradients_avx2(after), rival),
                            _mm256_cmpgt_epi32(least, gradients_avx2(before))));
}

// Where 8 pixels are maxima across the edge.
AVX2 static inline __m256 largest_of_8(const int32_t *above, const int32_t *row,
                                       const int32_t *below, __m256i own)
{
    const __m256i mask = _mm256_set1_epi32(3);
    __m256i least = _mm256_andnot_si256(mask, own), most = _mm256_or_si256(own, mask);
    __m256i less = _mm256_sub_epi32(least, _mm256_set1_epi32(1));
    __m256 odd = _mm256_castsi256_ps(_mm256_slli_epi32(own, 31));
    __m256 diagonal = _mm256_castsi256_ps(_mm256_slli_epi32(own, 30));
    __m256 horizontal = maxima_avx2(least, row - 1, most, row + 1);
    __m256 vertical = maxima_avx2(least, above, most, below);
    __m256 falling = maxima_avx2(least, above - 1, less, below + 1);
    __m256 rising = maxima_avx2(least, above + 1, less, below - 1);

    return _mm256_blendv_ps(_mm256_blendv_ps(horizontal, vertical, odd),
                            _mm256_blendv_ps(falling, rising, odd), diagonal);
}

// Bits of the maxima over a limit.
AVX2 static inline uint64_t bits_avx2(__m256 maxima, __m256i own, int32_t limit)
{
    __m256i over = _mm256_cmpgt_epi32(own, _mm256_set1_epi32(limit));

    return (uint64_t)_mm256_movemask_ps(_mm256_and_ps(maxima, _mm256_castsi256_ps(over)));
}

AVX2 void suppress_compare_avx2(const struct suppress_row *above, const struct suppress_row *row,
                                const struct suppress_row *below, size_t blocks, int32_t low,
                                int32_t high, uint64_t *restrict candidates,
                                uint64_t *restrict strong)
{
    for (size_t i = 0; i < blocks; i++) {
        uint64_t over_low = 0, over_high = 0;

        for (size_t x = 0; x < SUPPRESS_BLOCK && row->peaks[i] > low; x += 8) {
            size_t at = i * SUPPRESS_BLOCK + x;
            __m256i own = gradients_avx2(row->gradients + at);
            __m256 maxima = largest_of_8(above->gradients + at, row->gradients + at,
                                         below->gradients + at, own);

            over_low |= bits_avx2(maxima, own, low) << x;
            over_high |= bits_avx2(maxima, own, high) << x;
        }
        candidates[i] = over_low;
        strong[i] = over_high;
    }
}

AVX512 static inline __m512i directions_avx512(__m512i gx, __m512i gy)
{
    __m512i x = _mm512_abs_epi16(gx), y = _mm512_abs_epi16(gy);
    __m512i flat = _mm512_mulhi_epu16(x, _mm512_set1_epi16(SUPPRESS_TANGENT));
    __m512i steep = _mm512_add_epi16(flat, _mm512_add_epi16(x, x));
    __mmask32 rising = _mm512_movepi16_mask(_mm512_xor_si512(gx, gy));
    __m512i diagonal = _mm512_mask_mov_epi16(_mm512_set1_epi16(SUPPRESS_FALLING), rising,
                                             _mm512_set1_epi16(SUPPRESS_RISING));
    __m512i upright = _mm512_mask_mov_epi16(diagonal, _mm512_cmpgt_epi16_mask(y, steep),
                                            _mm512_set1_epi16(SUPPRESS_VERTICAL));

    return _mm512_maskz_mov_epi16(_mm512_cmpgt_epi16_mask(y, flat), upright);
}

// Gradients of 32 pixels; returns their larger halves.
AVX512 static inline __m512i combine_32_avx512(const int16_t *s, const int16_t *d, int32_t *row)
{
    const __m512i first = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0);
    const __m512i second = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
    __m512i gx = _mm512_sub_epi16(_mm512_loadu_si512(s + 1), _mm512_loadu_si512(s - 1));
    __m512i middle = _mm512_loadu_si512(d);
    __m512i outer = _mm512_add_epi16(_mm512_loadu_si512(d - 1), _mm512_loadu_si512(d + 1));
    __m512i gy = _mm512_add_epi16(outer, _mm512_add_epi16(middle, middle));
    __m512i to = directions_avx512(gx, gy), zero = _mm512_setzero_si512();
    __m512i gx2 = _mm512_add_epi16(gx, gx), gy2 = _mm512_add_epi16(gy, gy);
    __m512i low = _mm512_unpacklo_epi16(gx2, gy2), high = _mm512_unpackhi_epi16(gx2, gy2);

    low = _mm512_or_si512(_mm512_madd_epi16(low, low), _mm512_unpacklo_epi16(to, zero));
    high = _mm512_or_si512(_mm512_madd_epi16(high, high), _mm512_unpackhi_epi16(to, zero));
    _mm512_storeu_si512(row, _mm512_permutex2var_epi64(low, first, high));
    _mm512_storeu_si512(row + 16, _mm512_permutex2var_epi64(low, second, high));
    return _mm512_max_epi32(low, high);
}

AVX512 void suppress_combine_avx512(const int16_t *restrict sums,
                                    const int16_t *restrict differences, size_t blocks,
                                    int32_t *restrict gradients, int32_t *restrict peaks)
{
    for (size_t i = 0; i < blocks; i++) {
        size_t x = i * SUPPRESS_BLOCK;
        __m512i left = combine_32_avx512(sums + x, differences + x, gradients + x);
        __m512i right = combine_32_avx512(sums + x + 32, differences + x + 32, gradients + x + 32);

        peaks[i] = _mm512_reduce_max_epi32(_mm512_max_epi32(left, right));
    }
}

// The neighbours of 16 pixels in their directions: `row` holds those of horizontal gradients,
// `vertical`, `falling` and `rising` those of the others.
AVX512 static inline __m512i neighbours(const int32_t *horizontal, const int32_t *vertical,
                                        const int32_t *falling, const int32_t *rising,
                                        const __mmask16 *to)
{
    __m512i n = _mm512_loadu_si512(horizontal);

    n = _mm512_mask_loadu_epi32(n, to[SUPPRESS_VERTICAL], vertical);
    n = _mm512_mask_loadu_epi32(n, to[SUPPRESS_FALLING], falling);
    return _mm512_mask_loadu_epi32(n, to[SUPPRESS_RISING], rising);
}

AVX512 static inline void compare_block(const int32_t *above, const int32_t *row,
                                        const int32_t *below, __m512i low, __m512i high,
                                        uint64_t *restrict candidates, uint64_t *restrict strong)
{
    const __m512i one = _mm512_set1_epi32(1), mask = _mm512_set1_epi32(3);

    for (int x = 0; x < SUPPRESS_BLOCK; x += 16) {
        __m512i own = _mm512_loadu_si512(row + x), bits = _mm512_and_si512(own, mask);
        const __mmask16 to[] = {
            [SUPPRESS_VERTICAL] = _mm512_cmpeq_epi32_mask(bits, one),
            [SUPPRESS_FALLING] = _mm512_cmpeq_epi32_mask(bits, _mm512_set1_epi32(2)),
            [SUPPRESS_RISING] = _mm512_cmpeq_epi32_mask(bits, mask),
        };
        __mmask16 diagonal = to[SUPPRESS_FALLING] | to[SUPPRESS_RISING];
        __m512i least = _mm512_andnot_si512(mask, own);
        __m512i rival = _mm512_mask_sub_epi32(_mm512_or_si512(own, mask), diagonal, least, one);
        __m512i before = neighbours(row + x - 1, above + x, above + x - 1, above + x + 1, to);
        __m512i after = neighbours(row + x + 1, below + x, below + x + 1, below + x - 1, to);
        __mmask16 kept = _mm512_cmpgt_epi32_mask(own, low);

        kept = _mm512_mask_cmpgt_epi32_mask(kept, least, before);
        kept = _mm512_mask_cmpge_epi32_mask(kept, rival, after);
        *candidates |= (uint64_t)kept << x;
        *strong |= (uint64_t)_mm512_mask_cmpgt_epi32_mask(kept, own, high) << x;
    }
}
AVX512 void suppress_compare_avx512(const struct suppress_row *above,
                                    const struct suppress_row *row,
                                    const struct suppress_row *below, size_t blocks, int32_t low,
                                    int32_t high, uint64_t *restrict candidates,
                                    uint64_t *restrict strong)
{
    for (size_t i = 0; i < blocks; i++) {
        size_t x = i * SUPPRESS_BLOCK;

        candidates[i] = strong[i] = 0;
        if (row->peaks[i] > low) {
            compare_block(above->gradients + x, row->gradients + x, below->gradients + x,
                          _mm512_set1_epi32(low), _mm512_set1_epi32(high), &candidates[i],
                          &strong[i]);
        }
    }
}
#endif
