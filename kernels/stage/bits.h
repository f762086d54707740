// Rows of one bit a pixel: where a picture differs from another, and what erosion leaves of it.
//
// Pixel x is bit x % 64 of word x / 64. A row has bits_words(width) words; the bits behind its last
// pixel belong to no pixel.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BITS_WORD 64

static inline size_t bits_words(size_t width)
{
    return (width + BITS_WORD - 1) / BITS_WORD;
}

// Sets the bits of pixels with |gray - previous| > threshold and clears the others; then `previous`
// holds what `gray` does. Returns whether any bit is set.
bool bits_differ(const uint8_t *restrict gray, uint8_t *restrict previous, size_t width,
                 uint8_t threshold, uint64_t *restrict bits);

// Erodes a row of `width` pixels along itself, `times` times: a pixel stays set when it and both
// its neighbours are. Bits outside the row count as set, and are set afterwards.
void bits_erode_row(uint64_t *bits, size_t width, unsigned times);
// Keeps of `bits` what is set in `other`, too.
void bits_and(uint64_t *restrict bits, const uint64_t *restrict other, size_t words);

// Writes `width` bytes: `set` where a bit is set, else `clear`, which is less.
void bits_write(const uint64_t *restrict bits, size_t width, uint8_t clear, uint8_t set,
                uint8_t *restrict output);
