#include "kernels/canny/suppress.h"

#include "kernels/stage/simd.h"
#include "kernels/stage/vec.h"

#include <string.h>

#define DIRECTION_BITS 2
#define DIRECTION_MASK 3

SIMD_CLONES
static void add_columns(const uint8_t *restrict top, const uint8_t *restrict middle,
                        const uint8_t *restrict bottom, size_t width, int16_t *restrict sums,
                        int16_t *restrict differences)
{
    for (size_t x = 0; x < width; x++) {
        sums[x] = (int16_t)(top[x] + 2 * middle[x] + bottom[x]);
        differences[x] = (int16_t)(bottom[x] - top[x]);
    }
}

// With q = 13573 |gx| / 2^15, which is no integer but for gx = 0: |gy| < q is |gy| <= floor(q), and
// |gy| > q + 2 |gx| is |gy| > floor(q) + 2 |gx|. Where both gx and gy are 0 it does not matter.
SIMD_INLINE int32_t direction(int16_t gx, int16_t gy)
{
    int16_t x = (int16_t)(gx < 0 ? -gx : gx), y = (int16_t)(gy < 0 ? -gy : gy);
    int16_t flat = (int16_t)(x * SUPPRESS_TANGENT >> 15), steep = (int16_t)(flat + 2 * x);
    int16_t above_flat = y > flat, above_steep = y > steep;
    int16_t opposite = (int16_t)((uint16_t)(gx ^ gy) >> 15);

    return (int16_t)((above_flat ^ above_steep) << 1 | above_steep | (above_flat & opposite));
}

SIMD_CLONES
static void combine_plain(const int16_t *restrict sums, const int16_t *restrict differences,
                          size_t blocks, int32_t *restrict gradients, int32_t *restrict peaks)
{
    for (size_t i = 0; i < blocks; i++) {
        const int16_t *s = sums + i * SUPPRESS_BLOCK - 1, *d = differences + i * SUPPRESS_BLOCK - 1;
        int32_t *row = gradients + i * SUPPRESS_BLOCK, peak = 0;

        for (size_t x = 0; x < SUPPRESS_BLOCK; x++) {
            int16_t gx = (int16_t)(s[x + 2] - s[x]);
            int16_t gy = (int16_t)(d[x] + 2 * d[x + 1] + d[x + 2]);
            int32_t n = gx * gx + gy * gy;

            row[x] = n << DIRECTION_BITS | direction(gx, gy);
            peak = row[x] > peak ? row[x] : peak;
        }
        peaks[i] = peak;
    }
}

enum { CANDIDATE = 1, STRONG = 2 };

SIMD_INLINE void classify(const int32_t *restrict above, const int32_t *restrict row,
                          const int32_t *restrict below, int32_t low, int32_t high,
                          uint8_t *restrict classes)
{
    for (int x = 0; x < SUPPRESS_BLOCK; x++) {
        int32_t own = row[x], to = own & DIRECTION_MASK;
        int32_t least = own & ~DIRECTION_MASK, most = own | DIRECTION_MASK;
        int32_t horizontal = (least > row[x - 1]) & (most >= row[x + 1]);
        int32_t vertical = (least > above[x]) & (most >= below[x]);
        int32_t falling = (least > above[x - 1]) & (least > below[x + 1]);
        int32_t rising = (least > above[x + 1]) & (least > below[x - 1]);
        int32_t largest = (horizontal & (to == SUPPRESS_HORIZONTAL)) |
                          (vertical & (to == SUPPRESS_VERTICAL)) |
                          (falling & (to == SUPPRESS_FALLING)) | (rising & (to == SUPPRESS_RISING));

        classes[x] = (uint8_t)((largest & (own > low)) | (largest & (own > high)) << 1);
    }
}

// Bit `bit` of 64 bytes.
SIMD_INLINE uint64_t gather(const uint8_t *classes, unsigned bit)
{
    uint64_t bits = 0;

    for (unsigned i = 0; i < SUPPRESS_BLOCK / 8; i++) {
        uint64_t bytes;

        memcpy(&bytes, classes + 8 * (size_t)i, sizeof bytes);
        bytes = bytes >> bit & 0x0101010101010101;
        bits |= (bytes * 0x0102040810204080 >> 56) << 8 * i;
    }
    return bits;
}

SIMD_CLONES
static void compare_plain(const struct suppress_row *above, const struct suppress_row *row,
                          const struct suppress_row *below, size_t blocks, int32_t low,
                          int32_t high, uint64_t *restrict candidates, uint64_t *restrict strong)
{
    for (size_t i = 0; i < blocks; i++) {
        size_t x = i * SUPPRESS_BLOCK;
        uint8_t classes[SUPPRESS_BLOCK];

        candidates[i] = strong[i] = 0;
        if (row->peaks[i] > low) {
            classify(above->gradients + x, row->gradients + x, below->gradients + x, low, high,
                     classes);
            candidates[i] = gather(classes, 0);
            strong[i] = gather(classes, 1);
        }
    }
}

#ifdef VEC_BYTES
VEC vec_words vec_directions(vec_words gx, vec_words gy)
{
    vec_words x = vec_abs(gx), y = vec_abs(gy), flat = vec_share(x, SUPPRESS_TANGENT);
    vec_words above_flat = y > flat, above_steep = y > flat + 2 * x;
    vec_words odd = above_steep | (above_flat & (gx ^ gy) >> 15);

    return ((above_flat ^ above_steep) & SUPPRESS_FALLING) - odd;
}

VEC_TARGET static void combine_vectors(const int16_t *restrict sums,
                                       const int16_t *restrict differences, size_t blocks,
                                       int32_t *restrict gradients, int32_t *restrict peaks)
{
    for (size_t i = 0; i < blocks; i++) {
        vec_longs peak = {0};

        for (size_t x = i * SUPPRESS_BLOCK; x < (i + 1) * SUPPRESS_BLOCK; x += VEC_WORDS) {
            const int16_t *s = sums + x, *d = differences + x;
            vec_words gx = vec_load_words(s + 1) - vec_load_words(s - 1);
            vec_words gy = vec_load_words(d - 1) + vec_load_words(d + 1) + 2 * vec_load_words(d);

            peak = vec_larger_longs(
                peak, vec_store_squares(gradients + x, 2 * gx, 2 * gy, vec_directions(gx, gy)));
        }
        peaks[i] = vec_largest(peak);
    }
}

// Where least > *before, and *after is not larger than `rival`.
VEC vec_longs vec_between(vec_longs least, const int32_t *before, vec_longs rival,
                          const int32_t *after)
{
    return vec_without(least > vec_load_longs(before), vec_load_longs(after) > rival);
}

// Where pixels are maxima across the edge: all four directions are compared, one is chosen.
VEC vec_longs vec_maxima(const int32_t *above, const int32_t *row, const int32_t *below,
                         vec_longs own)
{
    vec_longs least = own & ~DIRECTION_MASK, most = own | DIRECTION_MASK, less = least - 1;
    vec_longs odd = vec_test(own, 0);
    vec_longs straight = vec_choose(odd, vec_between(least, above, most, below),
                                    vec_between(least, row - 1, most, row + 1));
    vec_longs oblique = vec_choose(odd, vec_between(least, above + 1, less, below - 1),
                                   vec_between(least, above - 1, less, below + 1));

    return vec_choose(vec_test(own, 1), oblique, straight);
}

VEC_TARGET static void compare_vectors(const struct suppress_row *above,
                                       const struct suppress_row *row,
                                       const struct suppress_row *below, size_t blocks, int32_t low,
                                       int32_t high, uint64_t *restrict candidates,
                                       uint64_t *restrict strong)
{
    for (size_t i = 0; i < blocks; i++) {
        uint64_t low_bits = 0, high_bits = 0;
        bool any = row->peaks[i] > low;

        for (size_t x = 0; x < SUPPRESS_BLOCK && any; x += 16) {
            vec_longs over_low[16 / VEC_LONGS], over_high[16 / VEC_LONGS];

            for (size_t j = 0; j < 16 / VEC_LONGS; j++) {
                size_t at = i * SUPPRESS_BLOCK + x + j * VEC_LONGS;
                vec_longs own = vec_load_longs(row->gradients + at);
                vec_longs maxima = vec_maxima(above->gradients + at, row->gradients + at,
                                              below->gradients + at, own);

                over_low[j] = maxima & (own > low);
                over_high[j] = maxima & (own > high);
            }
            low_bits |= vec_bits(over_low) << x;
            high_bits |= vec_bits(over_high) << x;
        }
        candidates[i] = low_bits;
        strong[i] = high_bits;
    }
}
#endif

// Gradients and peaks from the sums top + 2 middle + bottom and differences bottom - top of columns
// -1..width: gx = sums[x + 1] - sums[x - 1], gy = differences[x - 1] + 2 differences[x] +
// differences[x + 1]. Results of columns further right do not matter. And suppress_row(), with
// limits as gradients are, 4 n + 3. The first by plain loops.
static const struct {
    void (*combine)(const int16_t *restrict sums, const int16_t *restrict differences,
                    size_t blocks, int32_t *restrict gradients, int32_t *restrict peaks);
    void (*compare)(const struct suppress_row *above, const struct suppress_row *row,
                    const struct suppress_row *below, size_t blocks, int32_t low, int32_t high,
                    uint64_t *restrict candidates, uint64_t *restrict strong);
} loops[2] = {
    {combine_plain, compare_plain},
#ifdef VEC_BYTES
    {combine_vectors, compare_vectors},
#endif
};

void suppress_measure(bool vectors, const uint8_t *top, const uint8_t *middle,
                      const uint8_t *bottom, uint32_t width, const struct suppress_columns *columns,
                      const struct suppress_row *row)
{
    int16_t *sums = columns->sums, *differences = columns->differences;
    size_t blocks = SUPPRESS_BLOCKS(width);

    add_columns(top, middle, bottom, width, sums, differences);
    sums[-1] = sums[0];
    sums[width] = sums[width - 1];
    differences[-1] = differences[0];
    differences[width] = differences[width - 1];
    loops[vectors].combine(sums, differences, blocks, row->gradients, row->peaks);
    row->gradients[-1] = 0;
    memset(row->gradients + width, 0,
           (blocks * SUPPRESS_BLOCK + 1 - width) * sizeof *row->gradients);
}

void suppress_row(bool vectors, const struct suppress_row *above, const struct suppress_row *row,
                  const struct suppress_row *below, uint32_t width,
                  const struct suppress_limits *limits, uint64_t *candidates, uint64_t *strong)
{
    int32_t low = limits->low << DIRECTION_BITS | DIRECTION_MASK;
    int32_t high = limits->high << DIRECTION_BITS | DIRECTION_MASK;

    loops[vectors].compare(above, row, below, SUPPRESS_BLOCKS(width), low, high, candidates,
                           strong);
}
