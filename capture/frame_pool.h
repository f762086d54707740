// A fixed number of equal frames over one kind of memory. Nothing is allocated while frames flow.
//
// The allocator is injected, so that capture/ knows nothing of CUDA. A pool is reference counted:
// every frame out holds it, so frames outlive their source safely. Thread-safe.
#pragma once

#include "capture/frame.h"
#include "config/base.h"

// Where frame memory comes from. `context` must outlive every pool made from it.
struct frame_allocator {
    const char *kind; // "host", "registered", …: as in the config and the memory path
    void *context;
    // Page-aligned, zeroed memory of at least `size` bytes. 0 or a negative errno.
    int (*allocate)(void *context, size_t size, void **ret_memory);
    void (*release)(void *context, void *memory, size_t size);
    // For frame_to_gpu() and frame_queue_to_cpu(), with `memory` and `size` as allocated; `wait`
    // until all that is queued is done, at most 1 s. NULL, all: memory no GPU can use.
    int (*to_gpu)(void *context, void *memory, size_t size, struct error *error,
                  uint64_t *ret_address);
    int (*to_cpu)(void *context, void *memory, size_t size, struct error *error);
    int (*wait)(void *context, struct error *error);
};

// Anonymous page-aligned mappings, kind "host".
const struct frame_allocator *frame_allocator_host(void);

// Makes `count` (1..64) frames of `layout`. -ENOMEM, -EINVAL (count), or what the allocator says.
int frame_pool_new(const struct frame_layout *layout, unsigned count,
                   const struct frame_allocator *allocator, struct frame_pool **ret_pool);
struct frame_pool *frame_pool_ref(struct frame_pool *pool);
void frame_pool_unref(struct frame_pool *pool);

// A free frame with one reference, or NULL when all are out. Its content is what it last held.
struct frame *frame_pool_take(struct frame_pool *pool);
const struct frame_layout *frame_pool_layout(const struct frame_pool *pool);
const char *frame_pool_memory_kind(const struct frame_pool *pool);
