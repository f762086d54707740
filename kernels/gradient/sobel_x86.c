// Both versions do the same with registers of different width:
//
// - The multiply-add of pairs of bytes by 1 makes the sums of the pixels x - 1 and x, x and x + 1,
//   x + 1 and x + 2, for even x in 16 bit lanes. Those of two rows added are the boxes of sobel.h,
//   left and right of even pixels, and of odd ones. Even and odd pixels stay apart up to the end.
// - |gx| + |gy| takes one maximum of the boxes' differences p and q, doubled by the multiply-add.
// - For L2, p and q side by side in 16 bit lanes are squared and summed by the multiply-add of
//   pairs. Two of four vectors of these sums get their root by Newton's step from an estimate, as
//   in magnitude_x86.c, two by the divider, which is free: the low half of a 32 bit lane is the
//   result, and a root in float comes no nearer to a rounding tie than 1e-6 of itself.
// - Of a strip of columns a row's p and q are made before the roots of the row above are, so that
//   neither waits for the other.
// - Each row of a strip asks for its place in the rows of the next call: no prefetcher of a CPU
//   follows strips, and pictures of a camera are in no cache.
//
// Operations on vectors for 64 pixels by AVX-512: 10 to p and q, 8 from there to bytes of L1, 31 to
// those of L2.
#ifdef __x86_64__
#include "kernels/gradient/sobel_x86.h"

#include "kernels/stage/compose.h"
#include "kernels/stage/simd.h"

#include <immintrin.h>
#include <string.h>

#define AVX2 __attribute__((target("avx2,fma"), always_inline)) static inline
#define AVX512 __attribute__((target("avx512f,avx512bw"), always_inline)) static inline
#define ROWS_avx2 __attribute__((target("avx2,fma")))
#define ROWS_avx512 __attribute__((target("avx512f,avx512bw")))
#define PIXELS_avx2 32
#define PIXELS_avx512 64
// Of a pixel in the sums: L1's come doubled.
#define l1_WEIGHT 2
#define l2_WEIGHT 1

// Where a vector of pixels lies in its rows: `left` pixels are there from x on.
struct place {
    size_t x, left;
};

// Sums of pixels, for even x: of a row's x - 1 and x, x and x + 1, x + 1 and x + 2, or of these in
// two rows. What is known of a row and the one before it. Differences of boxes, of even pixels and
// of odd ones. Numbers that make a row's magnitudes: two vectors for L1, four for L2.
#define DEFINE_TYPES(make, vector)                                                                 \
    struct sums_##make {                                                                           \
        vector left, middle, right;                                                                \
    };                                                                                             \
                                                                                                   \
    struct known_##make {                                                                          \
        struct sums_##make row, boxes;                                                             \
    };                                                                                             \
                                                                                                   \
    struct slopes_##make {                                                                         \
        vector p[2], q[2];                                                                         \
    };                                                                                             \
                                                                                                   \
    struct numbers_##make {                                                                        \
        vector at[4];                                                                              \
    };                                                                                             \
                                                                                                   \
    struct words_##make {                                                                          \
        vector first, second;                                                                      \
    };

// `edge`: pixels may lie outside the rows, where the border's are repeated.
#define DEFINE_SUMS(MAKE, make, vector, pairs, add, sub)                                           \
    MAKE struct sums_##make sum_pairs_##make(const uint8_t *row, struct place place, bool edge,    \
                                             char weight)                                          \
    {                                                                                              \
        const vector weights = all_##make(weight);                                                 \
        const uint8_t *at = row + place.x;                                                         \
        bool whole = !edge || place.left >= PIXELS_##make;                                         \
        vector here = whole ? load_##make(at) : load_some_##make(at, place.left);                  \
        vector left = !edge || (whole && place.x > 0)                                              \
                          ? load_##make(at - 1)                                                    \
                          : before_##make(place.x > 0 ? at[-1] : at[0], here);                     \
        vector right = !edge || place.left > PIXELS_##make                                         \
                           ? load_##make(at + 1)                                                   \
                           : behind_##make(here, at[place.left - 1]);                              \
                                                                                                   \
        return (struct sums_##make){pairs(left, weights), pairs(here, weights),                    \
                                    pairs(right, weights)};                                        \
    }                                                                                              \
                                                                                                   \
    MAKE struct sums_##make add_sums_##make(struct sums_##make a, struct sums_##make b)            \
    {                                                                                              \
        return (struct sums_##make){add(a.left, b.left), add(a.middle, b.middle),                  \
                                    add(a.right, b.right)};                                        \
    }                                                                                              \
                                                                                                   \
    MAKE struct slopes_##make take_in_##make(struct known_##make *known, struct sums_##make row)   \
    {                                                                                              \
        struct sums_##make above = known->boxes, below = add_sums_##make(known->row, row);         \
                                                                                                   \
        *known = (struct known_##make){row, below};                                                \
        return (struct slopes_##make){                                                             \
            {sub(below.middle, above.left), sub(below.right, above.middle)},                       \
            {sub(above.middle, below.left), sub(above.right, below.middle)}};                      \
    }

#define DEFINE_NORMS(MAKE, make, add_long, abs, most, multiply_add, unpack_low, unpack_high)       \
    MAKE struct numbers_##make l1_numbers_##make(struct slopes_##make s)                           \
    {                                                                                              \
        return (struct numbers_##make){                                                            \
            {most(abs(s.p[0]), abs(s.q[0])), most(abs(s.p[1]), abs(s.q[1]))}};                     \
    }                                                                                              \
                                                                                                   \
    MAKE struct words_##make l1_words_##make(struct numbers_##make numbers)                        \
    {                                                                                              \
        return (struct words_##make){numbers.at[0], numbers.at[1]};                                \
    }                                                                                              \
                                                                                                   \
    MAKE struct numbers_##make l2_numbers_##make(struct slopes_##make s)                           \
    {                                                                                              \
        struct numbers_##make n = {{unpack_low(s.p[0], s.q[0]), unpack_low(s.p[1], s.q[1]),        \
                                    unpack_high(s.p[0], s.q[0]), unpack_high(s.p[1], s.q[1])}};    \
                                                                                                   \
        for (unsigned i = 0; i < 4; i++) {                                                         \
            n.at[i] = multiply_add(n.at[i], n.at[i]);                                              \
            n.at[i] = add_long(n.at[i], n.at[i]);                                                  \
        }                                                                                          \
        return n;                                                                                  \
    }                                                                                              \
                                                                                                   \
    MAKE struct words_##make l2_words_##make(struct numbers_##make n)                              \
    {                                                                                              \
        return (struct words_##make){                                                              \
            both_##make(divided_root_##make(n.at[0]), divided_root_##make(n.at[1])),               \
            both_##make(root_##make(n.at[2]), root_##make(n.at[3]))};                              \
    }

#define DEFINE_WRITE(MAKE, norm, range, make)                                                      \
    MAKE void norm##_##range##_write_##make(struct numbers_##make numbers, struct place place,     \
                                            bool edge, uint8_t *output)                            \
    {                                                                                              \
        __typeof__(numbers.at[0]) block =                                                          \
            norm##_order_##make(range##_##make(norm##_words_##make(numbers)));                     \
                                                                                                   \
        if (!edge || place.left >= PIXELS_##make) {                                                \
            store_##make(output + place.x, block);                                                 \
        } else {                                                                                   \
            store_some_##make(output + place.x, block, place.left);                                \
        }                                                                                          \
    }

#define DEFINE_STRIP(MAKE, norm, range, make)                                                      \
    MAKE void norm##_##range##_strip_##make(const uint8_t *const *rows, unsigned count,            \
                                            struct place place, bool edge,                         \
                                            uint8_t *const *outputs)                               \
    {                                                                                              \
        struct sums_##make row = sum_pairs_##make(rows[1], place, edge, norm##_WEIGHT);            \
        struct known_##make known = {                                                              \
            row, add_sums_##make(sum_pairs_##make(rows[0], place, edge, norm##_WEIGHT), row)};     \
        struct numbers_##make numbers = norm##_numbers_##make(                                     \
            take_in_##make(&known, sum_pairs_##make(rows[2], place, edge, norm##_WEIGHT)));        \
                                                                                                   \
        simd_read_below(rows, count, 0, place.x);                                                  \
        for (unsigned i = 1; i < count; i++) {                                                     \
            struct numbers_##make next = norm##_numbers_##make(take_in_##make(                     \
                &known, sum_pairs_##make(rows[i + 2], place, edge, norm##_WEIGHT)));               \
                                                                                                   \
            simd_read_below(rows, count, i, place.x);                                              \
            norm##_##range##_write_##make(numbers, place, edge, outputs[i - 1]);                   \
            numbers = next;                                                                        \
        }                                                                                          \
        norm##_##range##_write_##make(numbers, place, edge, outputs[count - 1]);                   \
    }                                                                                              \
                                                                                                   \
    ROWS_##make void sobel_##norm##_##range##_##make(const uint8_t *const *rows, unsigned count,   \
                                                     size_t width, uint8_t *const *outputs)        \
    {                                                                                              \
        for (size_t x = 0; x < width; x += PIXELS_##make) {                                        \
            struct place place = {x, width - x};                                                   \
                                                                                                   \
            if (x == 0 || place.left <= PIXELS_##make) {                                           \
                norm##_##range##_strip_##make(rows, count, place, true, outputs);                  \
            } else {                                                                               \
                norm##_##range##_strip_##make(rows, count, place, false, outputs);                 \
            }                                                                                      \
        }                                                                                          \
    }

#define DEFINE_ROWS_OF(MAKE, norm, range, make)                                                    \
    DEFINE_WRITE(MAKE, norm, range, make)                                                          \
    DEFINE_STRIP(MAKE, norm, range, make)

#define DEFINE_ROWS(MAKE, make)                                                                    \
    DEFINE_ROWS_OF(MAKE, l2, full, make)                                                           \
    DEFINE_ROWS_OF(MAKE, l2, limited, make)                                                        \
    DEFINE_ROWS_OF(MAKE, l1, full, make)                                                           \
    DEFINE_ROWS_OF(MAKE, l1, limited, make)

DEFINE_TYPES(avx2, __m256i)

AVX2 __m256i load_avx2(const uint8_t *from)
{
    return _mm256_loadu_si256((const __m256i *)from);
}

// The last `count` pixels of a row, and the last of them repeated.
AVX2 __m256i load_some_avx2(const uint8_t *from, size_t count)
{
    uint8_t pixels[PIXELS_avx2];

    memset(pixels, from[count - 1], sizeof pixels);
    memcpy(pixels, from, count);
    return load_avx2(pixels);
}

AVX2 void store_avx2(uint8_t *to, __m256i pixels)
{
    _mm256_storeu_si256((__m256i *)to, pixels);
}

AVX2 void store_some_avx2(uint8_t *to, __m256i pixels, size_t count)
{
    memcpy(to, &pixels, count);
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

AVX2 __m256i all_avx2(char weight)
{
    return _mm256_set1_epi8(weight);
}

// From 1 / 2^12 of an estimate on: see magnitude_x86.c.
AVX2 __m256i root_avx2(__m256i number)
{
    __m256 n = _mm256_cvtepi32_ps(number), y = _mm256_rsqrt_ps(n);
    __m256 s = _mm256_mul_ps(n, y), step = _mm256_fnmadd_ps(s, y, _mm256_set1_ps(3.0f));

    return _mm256_castps_si256(_mm256_fmadd_ps(s, step, _mm256_set1_ps(0x1.8p24f)));
}

// Added to 1.5 * 2^23, where floats lie 1 apart, the root is rounded.
AVX2 __m256i divided_root_avx2(__m256i number)
{
    __m256 root = _mm256_sqrt_ps(_mm256_cvtepi32_ps(number));

    return _mm256_castps_si256(_mm256_add_ps(root, _mm256_set1_ps(0x1.8p23f)));
}

// The low halves of both in turns.
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

// L1's words are those of the even pixels and of the odd ones, L2's are in order.
AVX2 __m256i l1_order_avx2(__m256i bytes)
{
    const __m128i order = _mm_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);

    return _mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(order));
}

AVX2 __m256i l2_order_avx2(__m256i bytes)
{
    return bytes;
}

DEFINE_SUMS(AVX2, avx2, __m256i, _mm256_maddubs_epi16, _mm256_add_epi16, _mm256_sub_epi16)
DEFINE_NORMS(AVX2, avx2, _mm256_add_epi32, _mm256_abs_epi16, _mm256_max_epi16, _mm256_madd_epi16,
             _mm256_unpacklo_epi16, _mm256_unpackhi_epi16)
DEFINE_ROWS(AVX2, avx2)

DEFINE_TYPES(avx512, __m512i)

AVX512 __m512i load_avx512(const uint8_t *from)
{
    return _mm512_loadu_si512(from);
}

AVX512 __m512i load_some_avx512(const uint8_t *from, size_t count)
{
    __mmask64 there = (UINT64_C(1) << count) - 1; // of 63 pixels at most

    return _mm512_mask_loadu_epi8(_mm512_set1_epi8((char)from[count - 1]), there, from);
}

AVX512 void store_avx512(uint8_t *to, __m512i pixels)
{
    _mm512_storeu_si512(to, pixels);
}

AVX512 void store_some_avx512(uint8_t *to, __m512i pixels, size_t count)
{
    _mm512_mask_storeu_epi8(to, (UINT64_C(1) << count) - 1, pixels);
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

AVX512 __m512i all_avx512(char weight)
{
    return _mm512_set1_epi8(weight);
}

AVX512 __m512i root_avx512(__m512i number)
{
    __m512 n = _mm512_cvtepi32_ps(number), y = _mm512_rsqrt14_ps(n);
    __m512 s = _mm512_mul_ps(n, y), step = _mm512_fnmadd_ps(s, y, _mm512_set1_ps(3.0f));

    return _mm512_castps_si512(_mm512_fmadd_ps(s, step, _mm512_set1_ps(0x1.8p24f)));
}

AVX512 __m512i divided_root_avx512(__m512i number)
{
    __m512 root = _mm512_sqrt_ps(_mm512_cvtepi32_ps(number));

    return _mm512_castps_si512(_mm512_add_ps(root, _mm512_set1_ps(0x1.8p23f)));
}

AVX512 __m512i both_avx512(__m512i even, __m512i odd)
{
    const __m512i turns =
        _mm512_set_epi16(62, 30, 60, 28, 58, 26, 56, 24, 54, 22, 52, 20, 50, 18, 48, 16, 46, 14, 44,
                         12, 42, 10, 40, 8, 38, 6, 36, 4, 34, 2, 32, 0);

    return _mm512_permutex2var_epi16(even, turns, odd);
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

AVX512 __m512i l1_order_avx512(__m512i bytes)
{
    const __m128i order = _mm_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);

    return _mm512_shuffle_epi8(bytes, _mm512_broadcast_i32x4(order));
}

AVX512 __m512i l2_order_avx512(__m512i bytes)
{
    return bytes;
}

DEFINE_SUMS(AVX512, avx512, __m512i, _mm512_maddubs_epi16, _mm512_add_epi16, _mm512_sub_epi16)
DEFINE_NORMS(AVX512, avx512, _mm512_add_epi32, _mm512_abs_epi16, _mm512_max_epi16,
             _mm512_madd_epi16, _mm512_unpacklo_epi16, _mm512_unpackhi_epi16)
DEFINE_ROWS(AVX512, avx512)
#endif
