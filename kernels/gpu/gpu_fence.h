// A fence: a point in a stream that a thread waits for.
//
// A thread polls for some microseconds first, in which the GPU finishes small pictures, because
// falling asleep and waking up takes longer. Then it sleeps (gpu_waiter.h).
#pragma once

#include "kernels/gpu/gpu_waiter.h"

struct gpu_fence {
    const struct cuda_driver *driver; // these two are not owned
    struct gpu_waiter *waiter;
    struct CUevent_st *event; // owned
};

// The GPU's context is current, as in gpu_fence_set() and gpu_fence_finish(). Returns CUDA's error.
// End it with gpu_fence_finish(), unless the GPU is lost.
int gpu_fence_init(struct gpu_fence *fence, const struct cuda_driver *driver,
                   struct gpu_waiter *waiter, struct error *error);
// Takes zeroed fences.
void gpu_fence_finish(struct gpu_fence *fence);

// Puts the fence behind all that is queued in the stream so far. Returns CUDA's error.
int gpu_fence_set(struct gpu_fence *fence, struct CUstream_st *stream, struct error *error);
// Waits until all before the fence is done, at most until `deadline_ns` (CLOCK_MONOTONIC).
// -ETIMEDOUT, or the error that work in the stream ended with. Of a waiter one thread at a time.
int gpu_fence_wait(struct gpu_fence *fence, int64_t deadline_ns, struct error *error);
