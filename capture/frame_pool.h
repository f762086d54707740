// A fixed number of equal frames over one kind of memory. Nothing is allocated while frames flow.
//
// The allocator is injected, so that capture/ knows nothing of CUDA. A pool is reference counted:
// every frame out holds it, so frames outlive their source safely. Thread-safe.
#pragma once

#include "capture/frame.h"
#include "config/base.h"

// Anonymous page-aligned mappings, kind "host".
const struct frame_allocator *frame_allocator_host(void);

#define FRAME_POOL_MAX 64

// Makes `count` (1..FRAME_POOL_MAX) frames of `layout`, which for surfaces is as they lay it out.
// -ENOMEM, -EINVAL (count), or what the allocator says.
int frame_pool_new(const struct frame_layout *layout, unsigned count,
                   const struct frame_allocator *allocator, struct frame_pool **ret_pool);
struct frame_pool *frame_pool_ref(struct frame_pool *pool);
void frame_pool_unref(struct frame_pool *pool);

// A free frame with one reference, or NULL when all are out. Its content is what it last held.
struct frame *frame_pool_take(struct frame_pool *pool);
// The same for what is made of `origin`: with its times and its number.
struct frame *frame_pool_take_for(struct frame_pool *pool, const struct frame *origin);
const struct frame_layout *frame_pool_layout(const struct frame_pool *pool);
