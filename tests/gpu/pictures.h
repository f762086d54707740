// Test pictures in frames, at aligned and at awkward places.
#pragma once

#include "capture/frame_pool.h"

#define PICTURE_PLACEMENTS 5 // 0: aligned; then padded, tight, unaligned start, odd stride

struct picture {
    struct frame *frame;
    struct frame_pool *pool;
};

// How a picture lies in memory at a placement.
void picture_layout(struct frame_layout *layout, const char *format, uint32_t width,
                    uint32_t height, size_t placement);
// An undrawn picture, 0xee everywhere. Errors of frame_pool_new(). The caller ends it with
// picture_finish().
int picture_init(struct picture *picture, const char *format, uint32_t width, uint32_t height,
                 size_t placement, const struct frame_allocator *allocator);
void picture_finish(struct picture *picture); // takes zeroed ones

// Noise of full contrast in some stripes, of two values or soft ramps in others; the same pixels
// for the same seed and size at every placement.
void picture_draw(struct frame *frame, uint32_t seed);
// Plane 0 alone, as gray. A weak line of a pixel wound around the picture in rings `pitch` pixels
// apart, with one strong dot at its outer end, or at its inner one if `seed` is odd.
void picture_draw_spiral(struct frame *frame, uint32_t pitch, uint32_t seed);
// Plane 0 alone, as gray. Discs of all sizes with soft rims over a slope, and a little noise.
void picture_draw_discs(struct frame *frame, uint32_t seed);
// The pixels of `from`, which has the same format and size.
void picture_copy(struct frame *to, const struct frame *from);
