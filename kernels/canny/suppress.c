#include "kernels/canny/suppress.h"

#include "kernels/canny/suppress_x86.h"
#include "kernels/stage/simd.h"

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
    int16_t flat = (int16_t)((uint32_t)x * SUPPRESS_TANGENT >> 16), steep = (int16_t)(flat + 2 * x);
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

static bool always(void)
{
    return true;
}

static const struct suppress_version versions[] = {
#ifdef __x86_64__
    {"avx512", suppress_has_avx512, suppress_combine_avx512, suppress_compare_avx512},
    {"avx2", suppress_has_avx2, suppress_combine_avx2, suppress_compare_avx2},
#endif
    {"plain", always, combine_plain, compare_plain},
};

const struct suppress_version *suppress_version_at(size_t index)
{
    return index < sizeof versions / sizeof versions[0] ? &versions[index] : NULL;
}

const struct suppress_version *suppress_version_best(void)
{
    const struct suppress_version *version = versions;

    while (!version->supported()) {
        version++;
    }
    return version;
}

void suppress_measure(const struct suppress_version *version, const uint8_t *top,
                      const uint8_t *middle, const uint8_t *bottom, uint32_t width,
                      const struct suppress_columns *columns, const struct suppress_row *row)
{
    int16_t *sums = columns->sums, *differences = columns->differences;
    size_t blocks = SUPPRESS_BLOCKS(width);

    add_columns(top, middle, bottom, width, sums, differences);
    sums[-1] = sums[0];
    sums[width] = sums[width - 1];
    differences[-1] = differences[0];
    differences[width] = differences[width - 1];
    version->combine(sums, differences, blocks, row->gradients, row->peaks);
    row->gradients[-1] = 0;
    memset(row->gradients + width, 0,
           (blocks * SUPPRESS_BLOCK + 1 - width) * sizeof *row->gradients);
}

void suppress_row(const struct suppress_version *version, const struct suppress_row *above,
                  const struct suppress_row *row, const struct suppress_row *below, uint32_t width,
                  const struct suppress_limits *limits, uint64_t *candidates, uint64_t *strong)
{
    int32_t low = limits->low << DIRECTION_BITS | DIRECTION_MASK;
    int32_t high = limits->high << DIRECTION_BITS | DIRECTION_MASK;

    version->compare(above, row, below, SUPPRESS_BLOCKS(width), low, high, candidates, strong);
}
