// Between frame.c and frame_pool.c: the way home of a frame.
#pragma once

#include "capture/frame_pool.h"

// Puts a frame without references back among the free ones and drops its reference to the pool,
// which may free the pool and the frame with it.
void frame_pool_return(struct frame_pool *pool, struct frame *frame);
