// How often each level of gray occurs: the histogram of a picture.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pool;

// Counts the pixels of `height` rows of `width`, `stride` bytes apart, with the threads of `pool`;
// NULL: with the caller's alone.
void levels_count(struct pool *pool, const uint8_t *plane, size_t stride, uint32_t width,
                  uint32_t height, uint32_t ret_histogram[256]);
