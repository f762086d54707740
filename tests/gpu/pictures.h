// Test pictures in frames, at aligned and at awkward places.
#pragma once

#include "capture/frame_pool.h"

#define PICTURE_PLACEMENTS 5 // 0: aligned; then padded, tight, unaligned start, odd stride

struct picture {
    struct frame *frame;
    struct frame_pool *pool;
};

// Noise of full contrast in some stripes, of two values or soft ramps in others.
void picture_draw(struct frame *frame, uint32_t seed);
// A drawn picture. Errors of frame_pool_new(). The caller ends it with picture_finish().
int picture_init(struct picture *picture, const char *format, uint32_t width, uint32_t height,
                 size_t placement, const struct frame_allocator *allocator);
void picture_finish(struct picture *picture); // takes zeroed ones
