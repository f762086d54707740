// The last step of a stream: computed gray, 0..255, to limited range luma,
// Y = 16 + (219 m + 127) / 255. Its chroma is constant and not written per picture (view.c). Behind
// a row stage it is a flag of that; a row stage of its own only where a run has nothing else to do.
#pragma once

#include "kernels/stage/simd.h"

#include <stddef.h>
#include <stdint.h>

struct stage_ops;

// For vectors with a multiplication that rounds: 219 / 255 in 15 bits. m times it, rounded half up,
// is the quotient of the definition for every m: 219 m / 255 is never nearer to a half than
// 1 / 170, the product less than 1 / 1000 off. It grows with m, so that for larger m the smaller of
// it and 219 is what 255 gives.
#define COMPOSE_FACTOR 28142
#define COMPOSE_BLACK 16
#define COMPOSE_REACH 219 // white, counted from black

// The luma of 0..255. The quotient t / 255 rounded is (t + 128 + (t + 128 >> 8)) >> 8 for 16 bit t,
// and 219 m is never halfway between multiples of 255, so that is the definition in 16 bits and
// without a division.
SIMD_INLINE uint8_t compose_luma(uint16_t gray)
{
    uint16_t t = (uint16_t)(219 * gray + 128);

    return (uint8_t)((uint16_t)(t + (t >> 8) + (COMPOSE_BLACK << 8)) >> 8);
}

// Maps a row of gray where it lies.
void compose_in_place(uint8_t *row, size_t width);

extern const struct stage_ops compose_ops;
