// A fence: a point in the GPU's stream that a thread waits for.
//
// A thread polls for some microseconds first, in which the GPU finishes small pictures, because
// falling asleep and waking up takes longer. Then it sleeps (gpu_waiter.h).
#pragma once

#include "kernels/gpu/gpu.h"

struct gpu_fence {
    struct gpu *gpu;          // not owned
    struct CUevent_st *event; // owned
};

// The GPU's context is current, as in gpu_fence_set(). What CUDA says. End it with
// gpu_fence_finish() in any case.
int gpu_fence_init(struct gpu_fence *fence, struct gpu *gpu, struct error *error);
// Takes zeroed fences.
void gpu_fence_finish(struct gpu_fence *fence);

// Puts the fence behind all that is queued so far. What CUDA says.
int gpu_fence_set(struct gpu_fence *fence, struct error *error);
// Waits until all before the fence is done, at most until `deadline_ns` (CLOCK_MONOTONIC).
// -ETIMEDOUT, or the error that work in the stream ended with. Of a GPU one thread waits at a time.
int gpu_fence_wait(struct gpu_fence *fence, int64_t deadline_ns, struct error *error);
