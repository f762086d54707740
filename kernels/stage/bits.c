#include "kernels/stage/bits.h"

#include "kernels/stage/simd.h"

#include <string.h>

// Eight bytes of 0 and 255, or of 0 and 1, to eight bits, byte i to bit i: the lowest bit of byte
// i, at bit 8 i, goes to bit 56 + i by a shift of 56 - 7 i, and the factor is the sum of these.
SIMD_INLINE uint64_t pack(const uint8_t *bytes)
{
    uint64_t word = 0;

    for (unsigned i = 0; i < BITS_WORD / 8; i++) {
        uint64_t eight;

        memcpy(&eight, bytes + (size_t)8 * i, sizeof eight);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        eight = __builtin_bswap64(eight);
#endif
        eight &= UINT64_C(0x0101010101010101);
        word |= (eight * UINT64_C(0x0102040810204080) >> 56) << 8 * i;
    }
    return word;
}

SIMD_CLONES
void bits_pack(const uint8_t *restrict mask, size_t width, uint64_t *restrict bits)
{
    size_t whole = width / BITS_WORD;

    for (size_t i = 0; i < whole; i++) {
        bits[i] = pack(mask + i * BITS_WORD);
    }
    if (width % BITS_WORD) {
        uint8_t rest[BITS_WORD] = {0};

        memcpy(rest, mask + whole * BITS_WORD, width % BITS_WORD);
        bits[whole] = pack(rest);
    }
}

void bits_leave(const uint8_t *restrict gray, const uint8_t *restrict previous,
                const struct bits_limits *limits, size_t width, uint64_t *restrict bits)
{
    for (size_t start = 0; start < width; start += BITS_WORD) {
        size_t end = width - start < BITS_WORD ? width - start : BITS_WORD;
        uint8_t moved[BITS_WORD] = {0};

        for (size_t x = 0; x < end; x++) {
            uint8_t now = gray[start + x], before = previous[start + x];

            moved[x] = (now < limits->low[before]) | (now > limits->high[before]);
        }
        bits[start / BITS_WORD] = pack(moved);
    }
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
    for (size_t i = 0; i < words; i++) {
        bits[i] &= other[i];
    }
}

SIMD_CLONES
size_t bits_count(const uint64_t *restrict bits, const uint64_t *restrict mask, size_t words,
                  uint64_t *restrict columns)
{
    size_t count = 0;

    for (size_t i = 0; i < words; i++) {
        uint64_t both = bits[i] & mask[i];

        count += (size_t)__builtin_popcountll(both);
        columns[i] |= both;
    }
    return count;
}
