// Both makes do the same with registers of different width:
//
// - The multiply-add of pairs of bytes by 1 makes the sums l of the pixels x - 1 and x, m of x and
//   x + 1, and r of x + 1 and x + 2, for even x in 16 bit lanes. Then h is l + m for even x and
//   m + r for odd, g is m - l and r - m. Even and odd pixels stay apart up to the root.
// - gx and gy side by side in 16 bit lanes; the multiply-add of pairs squares and sums them, the
//   root is that of magnitude_x86.c: the low half of a 32 bit lane is the result.
// - The results of the odd pixels go into the upper halves of those of their even neighbours, which
//   is their place in the row.
// - The input and the output are asked for early: the root takes longer than the memory, which then
//   has the next lines ready. That alone is a quarter of the time of L1 and a tenth of L2.
//
// A vector operation each: 3 + 4 for a row's h and g, 6 for gx and gy, of 64 pixels by AVX-512; 41
// for L2, of which 12 are for the estimates of 1 / sqrt(n).
#ifdef __x86_64__
#include "kernels/sobel_x86.h"

#include "kernels/compose.h"

#include <immintrin.h>
#include <string.h>

#define AVX2 __attribute__((target("avx2,fma"), always_inline)) static inline
#define AVX512 __attribute__((target("avx512f,avx512bw"), always_inline)) static inline
#define ROW_avx2 __attribute__((target("avx2,fma")))
#define ROW_avx512 __attribute__((target("avx512f,avx512bw")))
#define PIXELS_avx2 32
#define PIXELS_avx512 64
// Bytes; 512 to 2048 are the same.
#define AHEAD 1024

// What is kept of a vector's pixels, the even ones and the odd ones; the gradients of the row above
// and the words they become, in the order of the pixels.
#define DEFINE_TYPES(make, vector)                                                                 \
    struct kept_##make {                                                                           \
        vector h[2][2], g[2], u[2];                                                                \
    };                                                                                             \
                                                                                                   \
    struct slopes_##make {                                                                         \
        vector x[2], y[2];                                                                         \
    };                                                                                             \
                                                                                                   \
    struct words_##make {                                                                          \
        vector first, second;                                                                      \
    };

// Of a vector of pixels, the vectors that begin one to the left, there, and one to the right.
#define DEFINE_TAKE_IN(MAKE, make, vector, ones, pairs, add, sub)                                  \
    MAKE struct slopes_##make take_in_##make(vector left, vector here, vector right,               \
                                             struct kept_##make *kept, unsigned parity)            \
    {                                                                                              \
        vector l = pairs(left, ones), m = pairs(here, ones), r = pairs(right, ones);               \
        vector h[2] = {add(l, m), add(m, r)}, g[2] = {sub(m, l), sub(r, m)};                       \
        struct slopes_##make slopes;                                                               \
                                                                                                   \
        for (unsigned i = 0; i < 2; i++) {                                                         \
            vector u = add(kept->g[i], g[i]);                                                      \
                                                                                                   \
            slopes.x[i] = add(kept->u[i], u);                                                      \
            slopes.y[i] = sub(h[i], kept->h[parity][i]);                                           \
            kept->h[parity][i] = h[i];                                                             \
            kept->g[i] = g[i];                                                                     \
            kept->u[i] = u;                                                                        \
        }                                                                                          \
        return slopes;                                                                             \
    }

#define DEFINE_NORMS(MAKE, make, root, both, add, abs, unpack_low, unpack_high)                    \
    MAKE struct words_##make l2_##make(struct slopes_##make s)                                     \
    {                                                                                              \
        return (struct words_##make){                                                              \
            both(root(unpack_low(s.x[0], s.y[0])), root(unpack_low(s.x[1], s.y[1]))),              \
            both(root(unpack_high(s.x[0], s.y[0])), root(unpack_high(s.x[1], s.y[1])))};           \
    }                                                                                              \
                                                                                                   \
    MAKE struct words_##make l1_##make(struct slopes_##make s)                                     \
    {                                                                                              \
        __typeof__(s.x[0]) even = add(abs(s.x[0]), abs(s.y[0]));                                   \
        __typeof__(s.x[0]) odd = add(abs(s.x[1]), abs(s.y[1]));                                    \
                                                                                                   \
        return (struct words_##make){unpack_low(even, odd), unpack_high(even, odd)};               \
    }

// The last pixels of a row, too few for a vector, lie in one for a while.
#define DEFINE_ROW(MAKE, norm, range, make)                                                        \
    MAKE void norm##_##range##_rest_##make(const uint8_t *rest, size_t count, uint8_t before,      \
                                           struct kept_##make *kept, unsigned parity,              \
                                           uint8_t *output)                                        \
    {                                                                                              \
        uint8_t pixels[PIXELS_##make + 2];                                                         \
                                                                                                   \
        memset(pixels, rest[count - 1], sizeof pixels);                                            \
        pixels[0] = before;                                                                        \
        memcpy(pixels + 1, rest, count);                                                           \
        __typeof__(kept->g[0]) block = range##_##make(                                             \
            norm##_##make(take_in_##make(load_##make(pixels), load_##make(pixels + 1),             \
                                         load_##make(pixels + 2), kept, parity)));                 \
                                                                                                   \
        memcpy(output, &block, count);                                                             \
    }                                                                                              \
                                                                                                   \
    ROW_##make void sobel_##norm##_##range##_##make(const uint8_t *row, size_t width,              \
                                                    unsigned parity, void *kept, uint8_t *output)  \
    {                                                                                              \
        struct kept_##make *next = kept;                                                           \
        uint8_t first = row[0], last = row[width - 1];                                             \
        size_t x = 0;                                                                              \
                                                                                                   \
        for (; x + PIXELS_##make <= width; x += PIXELS_##make) {                                   \
            __typeof__(next->g[0]) here = load_##make(row + x);                                    \
            __typeof__(here) left = x > 0 ? load_##make(row + x - 1) : before_##make(first, here); \
            __typeof__(here) right =                                                               \
                x + PIXELS_##make < width ? load_##make(row + x + 1) : behind_##make(here, last);  \
            __typeof__(here) block =                                                               \
                range##_##make(norm##_##make(take_in_##make(left, here, right, next++, parity)));  \
                                                                                                   \
            _mm_prefetch(row + x + AHEAD, _MM_HINT_T0);                                            \
            _mm_prefetch(output + x + AHEAD, _MM_HINT_T0);                                         \
            memcpy(output + x, &block, sizeof block);                                              \
        }                                                                                          \
        if (x < width) {                                                                           \
            norm##_##range##_rest_##make(row + x, width - x, row[x > 0 ? x - 1 : 0], next, parity, \
                                         output + x);                                              \
        }                                                                                          \
    }

#define DEFINE_ROWS(MAKE, make)                                                                    \
    DEFINE_ROW(MAKE, l2, full, make)                                                               \
    DEFINE_ROW(MAKE, l2, limited, make)                                                            \
    DEFINE_ROW(MAKE, l1, full, make)                                                               \
    DEFINE_ROW(MAKE, l1, limited, make)

DEFINE_TYPES(avx2, __m256i)

AVX2 __m256i load_avx2(const uint8_t *from)
{
    return _mm256_loadu_si256((const __m256i *)from);
}

// The pixel `first` and then all but the last of `here`.
AVX2 __m256i before_avx2(uint8_t first, __m256i here)
{
    __m256i lanes = _mm256_permute2x128_si256(_mm256_set1_epi8((char)first), here, 0x20);

    return _mm256_alignr_epi8(here, lanes, 15);
}

// All but the first of `here`, and then the pixel `last`.
AVX2 __m256i behind_avx2(__m256i here, uint8_t last)
{
    __m256i lanes = _mm256_permute2x128_si256(here, _mm256_set1_epi8((char)last), 0x21);

    return _mm256_alignr_epi8(lanes, here, 1);
}

// The root of gx² + gy² from 1 / 2^12 of an estimate on: see magnitude_x86.c.
AVX2 __m256i root_avx2(__m256i slopes)
{
    __m256 n = _mm256_cvtepi32_ps(_mm256_madd_epi16(slopes, slopes)), y = _mm256_rsqrt_ps(n);
    __m256 s = _mm256_mul_ps(n, y), step = _mm256_fnmadd_ps(s, y, _mm256_set1_ps(3.0f));

    return _mm256_castps_si256(_mm256_fmadd_ps(s, step, _mm256_set1_ps(0x1.8p24f)));
}

// The low halves of both.
AVX2 __m256i both_avx2(__m256i even, __m256i odd)
{
    return _mm256_blend_epi16(even, _mm256_slli_epi32(odd, 16), 0xaa);
}

AVX2 __m256i full_avx2(struct words_avx2 words)
{
    return _mm256_packus_epi16(words.first, words.second);
}

AVX2 __m256i limited_avx2(struct words_avx2 words)
{
    const __m256i factor = _mm256_set1_epi16(COMPOSE_FACTOR);
    __m256i lumas = _mm256_packus_epi16(_mm256_mulhrs_epi16(words.first, factor),
                                        _mm256_mulhrs_epi16(words.second, factor));

    return _mm256_add_epi8(_mm256_min_epu8(lumas, _mm256_set1_epi8((char)COMPOSE_REACH)),
                           _mm256_set1_epi8(COMPOSE_BLACK));
}

DEFINE_TAKE_IN(AVX2, avx2, __m256i, _mm256_set1_epi8(1), _mm256_maddubs_epi16, _mm256_add_epi16,
               _mm256_sub_epi16)
DEFINE_NORMS(AVX2, avx2, root_avx2, both_avx2, _mm256_add_epi16, _mm256_abs_epi16,
             _mm256_unpacklo_epi16, _mm256_unpackhi_epi16)
DEFINE_ROWS(AVX2, avx2)

DEFINE_TYPES(avx512, __m512i)

AVX512 __m512i load_avx512(const uint8_t *from)
{
    return _mm512_loadu_si512(from);
}

AVX512 __m512i before_avx512(uint8_t first, __m512i here)
{
    __m512i lanes = _mm512_alignr_epi64(here, _mm512_set1_epi8((char)first), 6);

    return _mm512_alignr_epi8(here, lanes, 15);
}

AVX512 __m512i behind_avx512(__m512i here, uint8_t last)
{
    __m512i lanes = _mm512_alignr_epi64(_mm512_set1_epi8((char)last), here, 2);

    return _mm512_alignr_epi8(lanes, here, 1);
}

AVX512 __m512i root_avx512(__m512i slopes)
{
    __m512 n = _mm512_cvtepi32_ps(_mm512_madd_epi16(slopes, slopes)), y = _mm512_rsqrt14_ps(n);
    __m512 s = _mm512_mul_ps(n, y), step = _mm512_fnmadd_ps(s, y, _mm512_set1_ps(3.0f));

    return _mm512_castps_si512(_mm512_fmadd_ps(s, step, _mm512_set1_ps(0x1.8p24f)));
}

// 0xca chooses bits: by the first, from the second or else from the third.
AVX512 __m512i both_avx512(__m512i even, __m512i odd)
{
    return _mm512_ternarylogic_epi32(_mm512_set1_epi32(0xffff), even, _mm512_slli_epi32(odd, 16),
                                     0xca);
}

AVX512 __m512i full_avx512(struct words_avx512 words)
{
    return _mm512_packus_epi16(words.first, words.second);
}

AVX512 __m512i limited_avx512(struct words_avx512 words)
{
    const __m512i factor = _mm512_set1_epi16(COMPOSE_FACTOR);
    __m512i lumas = _mm512_packus_epi16(_mm512_mulhrs_epi16(words.first, factor),
                                        _mm512_mulhrs_epi16(words.second, factor));

    return _mm512_add_epi8(_mm512_min_epu8(lumas, _mm512_set1_epi8((char)COMPOSE_REACH)),
                           _mm512_set1_epi8(COMPOSE_BLACK));
}

DEFINE_TAKE_IN(AVX512, avx512, __m512i, _mm512_set1_epi8(1), _mm512_maddubs_epi16, _mm512_add_epi16,
               _mm512_sub_epi16)
DEFINE_NORMS(AVX512, avx512, root_avx512, both_avx512, _mm512_add_epi16, _mm512_abs_epi16,
             _mm512_unpacklo_epi16, _mm512_unpackhi_epi16)
DEFINE_ROWS(AVX512, avx512)
#endif
