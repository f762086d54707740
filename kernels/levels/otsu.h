// An automatic threshold by Otsu's method: all rows of a picture, its histogram, and from that the
// level that parts it best. So it is two passes over a frame.
//
// N. Otsu, "A threshold selection method from gray-level histograms", 1979: of all levels the one
// with the largest variance between the pixels below and the rest; the lowest of several alike. In
// double arithmetic in the order OpenCV has it, so equal to cv2.THRESH_OTSU + 1.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct otsu;
struct pool;
struct row_source;

// For pictures of `width` x `height` pixels, looked at with the threads of `pool`, which outlives
// it; NULL: with the caller's alone. -ENOMEM.
int otsu_new(uint32_t width, uint32_t height, struct pool *pool, struct otsu **ret_otsu);
void otsu_free(struct otsu *otsu); // takes NULL

// Takes all rows of `source`, and keeps those that no plane keeps. Returns the level, 1 to 255,
// from which on pixels are white.
uint8_t otsu_look(struct otsu *otsu, const struct row_source *source);
// Row `y` of what was looked at.
const uint8_t *otsu_row(const struct otsu *otsu, uint32_t y);

// The level for a picture with so many pixels of each value.
uint8_t otsu_level(const uint32_t histogram[256]);
