// A fence: a point in a stream that a thread waits for.
//
// A thread polls for some microseconds first, in which the GPU finishes small pictures, because
// falling asleep and waking up takes longer. Then it sleeps, in a waiter.
#pragma once

#include "kernels/gpu/cuda_driver.h"

#include <stdbool.h>

// Sleeping until the GPU is done, with a deadline, which the driver's own way to sleep lacks: a
// thread of the waiter waits for an event in the driver and rings a bell, and the caller sleeps
// until the bell rings or the deadline has passed.
//
// The thread is started when somebody first waits. If it never returns from the driver, because the
// GPU is lost, the thread and its memory are left behind.
struct gpu_waiter;

// For events of a context. The driver's table is copied. -ENOMEM, -EMFILE.
int gpu_waiter_new(const struct cuda_driver *driver, struct CUctx_st *context, struct error *error,
                   struct gpu_waiter **ret_waiter);
// Takes NULL. Nothing is waited for any more, or the GPU is `lost`.
void gpu_waiter_free(struct gpu_waiter *waiter, bool lost);

// Has the bell rung when the event, of CUDA_EVENT_BLOCKING_SYNC, is reached or will never be.
// Errors of pthread_create().
int gpu_waiter_order(struct gpu_waiter *waiter, struct CUevent_st *event);
// The event is about to be destroyed: it is waited for no more afterwards. It was reached, or it
// was never ordered.
void gpu_waiter_forget(struct gpu_waiter *waiter, const struct CUevent_st *event);
// Sleeps until the bell rings, for what was ordered last or before that, or until `deadline_ns`
// (CLOCK_MONOTONIC).
void gpu_waiter_sleep(struct gpu_waiter *waiter, int64_t deadline_ns);

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
