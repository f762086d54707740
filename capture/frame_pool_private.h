// Between frame.c and frame_pool.c: a frame's way home, and its memory's operations.
#pragma once

#include "capture/frame_pool.h"

const struct frame_allocator *frame_pool_allocator(const struct frame_pool *pool);

// Puts a frame without references back among the free ones and drops its reference to the pool,
// which may free the pool and the frame with it.
void frame_pool_return(struct frame_pool *pool, struct frame *frame);
