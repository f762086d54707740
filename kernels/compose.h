// The last row stage of a stream: computed gray, 0..255, to limited range luma,
// Y = 16 + (219 m + 127) / 255. Its chroma is constant and not written per picture (view.c).
#pragma once

#include "kernels/simd.h"

#include <stddef.h>
#include <stdint.h>

struct stage_ops;

// 219 / 255 in 15 bits. m times it, rounded half up, is the quotient of the definition for every m:
// 219 m / 255 is never nearer to a half than 1 / 170, the factor less than 1 / 10^4 of that off.
// For larger m the product grows, too, so that the smaller of it and 219 is right.
#define COMPOSE_FACTOR 28142
#define COMPOSE_BLACK 16
#define COMPOSE_REACH 219 // white, counted from black

// The luma of 0..255. Two shifts, because that is how compilers know the instruction for it.
SIMD_INLINE uint8_t compose_luma(int16_t gray)
{
    return (uint8_t)(COMPOSE_BLACK + (((gray * COMPOSE_FACTOR >> 14) + 1) >> 1));
}

// Maps a row of gray where it lies.
void compose_in_place(uint8_t *row, size_t width);

extern const struct stage_ops compose_ops;
