// The loops of suppress.c by AVX-512 instructions, 32 gradients and 16 comparisons at a time.
//
// - gx and gy side by side in 16 bit lanes; the multiply-add of pairs squares and sums them, and
//   two permutations put them back in order.
// - The two neighbours come by masked loads, one for each direction.
//
// Why not the compiler: gcc 12 multiplies in 32 bits, selects in 256 bit registers, and carries
// every comparison through bytes to get at its bit. `make bench` shows both.
#ifdef __x86_64__
#include "kernels/suppress_x86.h"

#include "kernels/suppress.h"

#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512bw")))

bool suppress_has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
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
    // 4 n is the sum of the squares of twice the gradient.
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
