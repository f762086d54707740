// Ingest: one row of a camera's picture to one row of gray.
//
// YUV and GREY: the luma samples as they are. RGB: (9798 R + 19235 G + 3735 B + 16384) >> 15, the
// weights 0.299, 0.587, 0.114 in 15 bits, equal to OpenCV's COLOR_RGB2GRAY.
#pragma once

#include "kernels/stage/simd.h"

#include <stddef.h>
#include <stdint.h>

struct pixel_format;

// `row` is a row of plane 0; writes `width` bytes of gray.
typedef void gray_row(const uint8_t *restrict row, size_t width, uint8_t *restrict gray);

// The function for pictures of `format`; every format of the table has one.
gray_row *gray_row_for(const struct pixel_format *format);

// Gray of one pixel.
SIMD_INLINE uint8_t gray_weigh(uint32_t red, uint32_t green, uint32_t blue)
{
    return (uint8_t)((9798 * red + 19235 * green + 3735 * blue + 16384) >> 15);
}
