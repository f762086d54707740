// A row of a mosaic as it lies in memory, to one of 8 bit samples by the formula of demosaic.h.
#pragma once

#include "capture/frame.h"
#include "kernels/demosaic/demosaic_cuda.h"

// `row` has `width` samples as they come; each of `output` takes 16 bits.
typedef void samples_unpack(const uint8_t *restrict row, size_t width, uint16_t *restrict output);

// The function for pictures of `format`, a mosaic.
samples_unpack *samples_unpack_for(const struct pixel_format *format);
// How unpacked samples of pictures of `layout` become 8 bit.
struct demosaic_levels samples_levels(const struct frame_layout *layout);
// Row `y` of a mosaic whose first red is at (red_x, red_y).
void samples_level(const struct demosaic_levels *levels, const struct pixel_format *format,
                   uint32_t y, const uint16_t *restrict samples, size_t width,
                   uint8_t *restrict output);
