// The pixels of a region, one bit each, as bits.h has them.
#pragma once

#include "config/config.h"
#include "kernels/stage/bits.h"

// A gray picture that is white (128 and more) where a region is.
struct region_picture {
    const uint8_t *gray; // row 0; not owned
    size_t stride;       // bytes
    uint32_t width, height;
};

// Sets the bits of the pixels of row `y` whose centres a polygon encloses, by the even-odd rule,
// and clears all others of the bits_words(width) words. A centre on an edge counts as right of it
// and below it, so that polygons that share an edge share no pixel. Corners are in shares of the
// picture's width and height.
void region_draw_polygon(const struct config_point *polygon, size_t count, uint32_t width,
                         uint32_t height, uint32_t y, uint64_t *bits);
// The same for a picture stretched over the frame: pixel x, y is white where the picture's pixel
// under its centre is, floor((2 x + 1) picture width / (2 width)).
void region_draw_picture(const struct region_picture *picture, uint32_t width, uint32_t height,
                         uint32_t y, uint64_t *bits);
// The same for the whole picture.
void region_draw_all(uint32_t width, uint64_t *bits);
