#include "kernels/stage/bits.h"

#include "kernels/stage/simd.h"
#include "kernels/stage/vec.h"

#include <string.h>

// The first of eight bytes in memory is the lowest.
SIMD_INLINE uint64_t in_order(uint64_t eight)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap64(eight);
#else
    return eight;
#endif
}

// Eight bytes of 0 and 1 to eight bits, byte i to bit i: the lowest bit of byte i, at bit 8 i, goes
// to bit 56 + i by a shift of 56 - 7 i, and the factor is the sum of these.
SIMD_INLINE uint64_t pack(const uint8_t *bytes)
{
    uint64_t word = 0;

    for (unsigned i = 0; i < BITS_WORD / 8; i++) {
        uint64_t eight;

        memcpy(&eight, bytes + (size_t)8 * i, sizeof eight);
        word |= (in_order(eight) * UINT64_C(0x0102040810204080) >> 56) << 8 * i;
    }
    return word;
}

#ifdef VEC_BYTES
// Both do whole words, by vectors that the CPU has.
VEC_TARGET static void differ_words(const uint8_t *restrict gray, uint8_t *restrict previous,
                                    size_t words, uint8_t threshold, uint64_t *restrict bits)
{
    for (size_t i = 0; i < words; i++, gray += BITS_WORD, previous += BITS_WORD) {
        bits[i] = vec_differ(gray, previous, threshold);
        memcpy(previous, gray, BITS_WORD);
    }
}

VEC_TARGET static void write_words(const uint64_t *restrict bits, size_t words, uint8_t clear,
                                   uint8_t set, uint8_t *restrict output)
{
    for (size_t i = 0; i < words; i++, output += BITS_WORD) {
        if (bits[i] == 0) // as most are of a real picture
            memset(output, clear, BITS_WORD);
        else
            vec_spread(bits[i], clear, set, output);
    }
}
#else
#define differ_words(...) ((void)0)
#define write_words(...) ((void)0)
#endif

SIMD_CLONES
static void differ_rest(const uint8_t *restrict gray, uint8_t *restrict previous, size_t width,
                        uint8_t threshold, uint64_t *restrict bits)
{
    for (size_t start = 0; start < width; start += BITS_WORD) {
        size_t end = width - start < BITS_WORD ? width - start : BITS_WORD;
        uint8_t moved[BITS_WORD] = {0};

        for (size_t x = 0; x < end; x++) {
            uint8_t now = gray[start + x], before = previous[start + x];

            moved[x] = (uint8_t)((now > before ? now : before) - (now > before ? before : now)) >
                       threshold;
            previous[start + x] = now;
        }
        bits[start / BITS_WORD] = pack(moved);
    }
}

bool bits_differ(const uint8_t *restrict gray, uint8_t *restrict previous, size_t width,
                 uint8_t threshold, uint64_t *restrict bits)
{
    size_t done = 0;
    uint64_t any = 0;

    if (vec_supported()) {
        done = width / BITS_WORD;
        differ_words(gray, previous, done, threshold, bits);
    }
    differ_rest(gray + done * BITS_WORD, previous + done * BITS_WORD, width - done * BITS_WORD,
                threshold, bits + done);
    for (size_t i = 0; i < bits_words(width); i++)
        any |= bits[i];
    return any;
}

static void erode_once(uint64_t *bits, size_t words)
{
    uint64_t left = UINT64_MAX;

    for (size_t i = 0; i < words; i++) {
        uint64_t here = bits[i], right = i + 1 < words ? bits[i + 1] : UINT64_MAX;

        bits[i] = here & (here << 1 | left >> 63) & (here >> 1 | right << 63);
        left = here;
    }
}

void bits_erode_row(uint64_t *bits, size_t width, unsigned times)
{
    size_t words = bits_words(width);
    uint64_t outside = width % BITS_WORD ? UINT64_MAX << width % BITS_WORD : 0;

    bits[words - 1] |= outside;
    for (unsigned i = 0; i < times; i++) {
        erode_once(bits, words);
        bits[words - 1] |= outside;
    }
}

void bits_and(uint64_t *restrict bits, const uint64_t *restrict other, size_t words)
{
    for (size_t i = 0; i < words; i++)
        bits[i] &= other[i];
}

void bits_write(const uint64_t *restrict bits, size_t width, uint8_t clear, uint8_t set,
                uint8_t *restrict output)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    size_t x = 0;

    if (vec_supported()) {
        write_words(bits, width / BITS_WORD, clear, set, output);
        x = width / BITS_WORD * BITS_WORD;
    }
    for (; x < width;
         x += 8) { // of copies of eight bits each byte keeps its own, and makes 1 of it
        uint64_t eight = (bits[x / BITS_WORD] >> x % BITS_WORD & 255) * ones;

        eight = ((eight & UINT64_C(0x8040201008040201)) + 127 * ones) >> 7 & ones;
        eight = in_order(eight * (uint8_t)(set - clear) + clear * ones);
        memcpy(output + x, &eight, width - x < sizeof eight ? width - x : sizeof eight);
    }
}
