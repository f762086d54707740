// An allocator that counts what is out and fails when told to.
#pragma once

#include "capture/frame_pool.h"

#include <errno.h>

struct counting {
    int out, allocations, fail_at; // the allocation that fails, from 0 on; -1: none
};

static inline int counting_allocate(void *context, size_t size, void **ret_memory)
{
    struct counting *counting = context;

    if (counting->allocations++ == counting->fail_at)
        return -ENOSPC;
    counting->out++;
    return frame_allocator_host()->allocate(NULL, size, ret_memory);
}

static inline void counting_release(void *context, void *memory, size_t size)
{
    struct counting *counting = context;

    counting->out--;
    frame_allocator_host()->release(NULL, memory, size);
}

static inline struct frame_allocator counting_allocator(struct counting *counting)
{
    return (struct frame_allocator){.kind = "counting",
                                    .context = counting,
                                    .allocate = counting_allocate,
                                    .release = counting_release};
}
