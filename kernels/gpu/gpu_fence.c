#include "kernels/gpu/gpu_fence.h"

#include <errno.h>
#include <sched.h>

// An H200's driver wakes a thread some 50 us late, so this is the most that asking can lose.
#define ASK_NS (45 * NS_PER_US)

int gpu_fence_init(struct gpu_fence *fence, const struct cuda_driver *driver,
                   struct gpu_waiter *waiter, struct error *error)
{
    *fence = (struct gpu_fence){.driver = driver, .waiter = waiter};
    return cuda_driver_check(
        driver,
        driver->event_create(&fence->event, CUDA_EVENT_BLOCKING_SYNC | CUDA_EVENT_DISABLE_TIMING),
        "making an event", error);
}

void gpu_fence_finish(struct gpu_fence *fence)
{
    if (fence->event) {
        gpu_waiter_forget(fence->waiter, fence->event);
        fence->driver->event_destroy(fence->event);
    }
    *fence = (struct gpu_fence){0};
}

int gpu_fence_set(struct gpu_fence *fence, struct CUstream_st *stream, struct error *error)
{
    return cuda_driver_check(fence->driver, fence->driver->event_record(fence->event, stream),
                             "waiting for the GPU", error);
}

// 1: done.
static int ask(const struct gpu_fence *fence, struct error *error)
{
    const struct cuda_driver *driver = fence->driver;
    int result = driver->event_query(fence->event);

    if (result == CUDA_ERROR_NOT_READY) {
        return 0;
    }
    return result == CUDA_SUCCESS ? 1
                                  : cuda_driver_check(driver, result, "waiting for the GPU", error);
}

static int ask_for_a_while(const struct gpu_fence *fence, int64_t end_ns, struct error *error)
{
    int r;

    while ((r = ask(fence, error)) == 0 && clock_now_ns() < end_ns) {
        sched_yield();
    }
    return r;
}

int gpu_fence_wait(struct gpu_fence *fence, int64_t deadline_ns, struct error *error)
{
    int r = ask_for_a_while(fence, clock_now_ns() + ASK_NS, error);
    bool sleeps = r == 0 && gpu_waiter_order(fence->waiter, fence->event) == 0;

    while (r == 0) {
        // Before the question: a thread that was kept from running is not the GPU's fault.
        bool late = clock_now_ns() > deadline_ns;

        r = ask(fence, error);
        if (r == 0 && late) {
            r = error_set(error, -ETIMEDOUT, "the GPU is not done in time");
        } else if (r == 0 && sleeps) {
            gpu_waiter_sleep(fence->waiter, deadline_ns);
        } else if (r == 0) {
            sched_yield(); // there is no thread to be had
        }
    }
    return r < 0 ? r : 0;
}
