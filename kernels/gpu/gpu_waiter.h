// Sleeping until the GPU is done, with a deadline, which the driver's own way to sleep lacks: a
// thread of the waiter waits for an event in the driver and rings a bell, and the caller sleeps
// until the bell rings or the deadline has passed.
//
// The thread is started when somebody first waits. If it never returns from the driver, because the
// GPU is lost, the thread and its memory are left behind.
#pragma once

#include "kernels/gpu/cuda_driver.h"

#include <stdbool.h>

struct gpu_waiter;

// For events of a context. The driver's table is copied. -ENOMEM, -EMFILE.
int gpu_waiter_new(const struct cuda_driver *driver, struct CUctx_st *context, struct error *error,
                   struct gpu_waiter **ret_waiter);
// Takes NULL. Nothing is waited for any more, or the GPU is `lost`.
void gpu_waiter_free(struct gpu_waiter *waiter, bool lost);

// Has the bell rung when the event, of CUDA_EVENT_BLOCKING_SYNC, is reached or will never be. What
// pthread_create() says.
int gpu_waiter_order(struct gpu_waiter *waiter, struct CUevent_st *event);
// The event is about to be destroyed: it is waited for no more afterwards. It was reached, or it
// was never ordered.
void gpu_waiter_forget(struct gpu_waiter *waiter, const struct CUevent_st *event);
// Sleeps until the bell rings, for what was ordered last or before that, or until `deadline_ns`
// (CLOCK_MONOTONIC).
void gpu_waiter_sleep(struct gpu_waiter *waiter, int64_t deadline_ns);
