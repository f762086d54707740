#include "kernels/gpu/gpu_fence.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct gpu_waiter {
    struct cuda_driver driver;
    struct CUctx_st *context; // not owned
    int bell_fd;
    bool started;
    pthread_t thread;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    // Guarded by the lock.
    struct CUevent_st *event;   // to be waited for; NULL: none
    struct CUevent_st *current; // is being waited for
    bool stopping;
    bool given_up; // the thread frees the waiter
};

int gpu_waiter_new(const struct cuda_driver *driver, struct CUctx_st *context, struct error *error,
                   struct gpu_waiter **ret_waiter)
{
    struct gpu_waiter *waiter = calloc(1, sizeof *waiter);

    if (!waiter)
        return error_set(error, -ENOMEM, "no memory to wait for the GPU with");
    waiter->driver = *driver;
    waiter->context = context;
    waiter->bell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (waiter->bell_fd < 0) {
        free(waiter);
        return error_set(error, -EMFILE, "no descriptor to wait for the GPU with");
    }
    pthread_mutex_init(&waiter->lock, NULL);
    pthread_cond_init(&waiter->changed, NULL);
    *ret_waiter = waiter;
    return 0;
}

static void release(struct gpu_waiter *waiter)
{
    close(waiter->bell_fd);
    pthread_cond_destroy(&waiter->changed);
    pthread_mutex_destroy(&waiter->lock);
    free(waiter);
}

void gpu_waiter_free(struct gpu_waiter *waiter, bool lost)
{
    bool started = waiter && waiter->started;

    if (started) {
        pthread_t thread = waiter->thread;

        pthread_mutex_lock(&waiter->lock);
        waiter->stopping = true;
        waiter->given_up = lost;
        pthread_cond_broadcast(&waiter->changed);
        pthread_mutex_unlock(&waiter->lock); // the waiter may be gone now
        if (lost) {
            pthread_detach(thread);
            return;
        }
        pthread_join(thread, NULL);
    }
    if (waiter)
        release(waiter);
}

// The next event, when the one before has been waited for; NULL: the end.
static struct CUevent_st *next_event(struct gpu_waiter *waiter)
{
    struct CUevent_st *event;

    pthread_mutex_lock(&waiter->lock);
    waiter->current = NULL;
    pthread_cond_broadcast(&waiter->changed);
    while (!waiter->event && !waiter->stopping)
        pthread_cond_wait(&waiter->changed, &waiter->lock);
    event = waiter->current = waiter->stopping ? NULL : TAKE(waiter->event);
    pthread_mutex_unlock(&waiter->lock);
    return event;
}

static void *wait_for_events(void *context)
{
    struct gpu_waiter *waiter = context;
    const uint64_t one = 1;
    struct CUevent_st *event;

    pthread_setname_np(pthread_self(), "gpu wait");
    waiter->driver.context_set(waiter->context);
    while ((event = next_event(waiter))) {
        waiter->driver.event_synchronize(event); // the thread that sleeps asks how it ended
        if (write(waiter->bell_fd, &one, sizeof one) < 0) {
            continue; // it rings already
        }
    }
    if (waiter->given_up)
        release(waiter);
    return NULL;
}

int gpu_waiter_order(struct gpu_waiter *waiter, struct CUevent_st *event)
{
    int r = waiter->started ? 0 : -pthread_create(&waiter->thread, NULL, wait_for_events, waiter);

    if (r < 0)
        return r;
    waiter->started = true;
    pthread_mutex_lock(&waiter->lock);
    waiter->event = event;
    pthread_cond_broadcast(&waiter->changed);
    pthread_mutex_unlock(&waiter->lock);
    return 0;
}

void gpu_waiter_forget(struct gpu_waiter *waiter, const struct CUevent_st *event)
{
    pthread_mutex_lock(&waiter->lock);
    waiter->event = waiter->event == event ? NULL : waiter->event;
    while (waiter->current == event)
        pthread_cond_wait(&waiter->changed, &waiter->lock);
    pthread_mutex_unlock(&waiter->lock);
}

void gpu_waiter_sleep(struct gpu_waiter *waiter, int64_t deadline_ns)
{
    int64_t left_ns = deadline_ns - clock_now_ns();
    struct pollfd bell = {.fd = waiter->bell_fd, .events = POLLIN};
    uint64_t rung;

    if (left_ns > 0 && poll(&bell, 1, (int)((left_ns + NS_PER_MS - 1) / NS_PER_MS)) > 0 &&
        read(waiter->bell_fd, &rung, sizeof rung) < 0) {
        return; // another thread heard it
    }
}

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

    if (result == CUDA_ERROR_NOT_READY)
        return 0;
    return result == CUDA_SUCCESS ? 1
                                  : cuda_driver_check(driver, result, "waiting for the GPU", error);
}

static int ask_for_a_while(const struct gpu_fence *fence, int64_t end_ns, struct error *error)
{
    int r;

    while ((r = ask(fence, error)) == 0 && clock_now_ns() < end_ns)
        sched_yield();
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
