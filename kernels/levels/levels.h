// How often each level of gray occurs, the histogram of a picture, and the threshold that follows.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pool;

// Counts the pixels of `height` rows of `width`, `stride` bytes apart, with the threads of `pool`;
// NULL: with the caller's alone.
void levels_count(struct pool *pool, const uint8_t *plane, size_t stride, uint32_t width,
                  uint32_t height, uint32_t ret_histogram[256]);

// The level, 1 to 255, from which on pixels are white by Otsu's method (N. Otsu, "A threshold
// selection method from gray-level histograms", 1979): of all levels the one with the largest
// variance between the pixels below and the rest; the lowest of several alike. In double arithmetic
// in the order OpenCV has it, so equal to cv2.THRESH_OTSU + 1. At least one pixel was counted.
uint8_t levels_otsu(const uint32_t histogram[256]);
