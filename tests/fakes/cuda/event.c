#include "tests/fakes/cuda/event.h"

#include "config/base.h"

#include <stdio.h>

struct CUevent_st {
    struct CUevent_st *next; // in the list of all
    int64_t time_ns;
    uint64_t recorded, reached; // times
    struct CUstream_st *stream; // where it was recorded last,
    uint64_t position;          // behind so many pieces of work
};

static struct CUevent_st *events;

static struct CUevent_st **find(const struct CUevent_st *handle)
{
    struct CUevent_st **at = &events;

    while (*at && *at != handle)
        at = &(*at)->next;
    return *at ? at : NULL;
}

unsigned events_leaks(void)
{
    unsigned leaks = 0;

    for (const struct CUevent_st *event = events; event; event = event->next) {
        fprintf(stderr, "fake_cuda: leaked: an event\n");
        leaks++;
    }
    return leaks;
}

void events_forget(void)
{
    while (events) {
        struct CUevent_st *event = events;

        events = event->next;
        free(event);
    }
    pthread_cond_broadcast(&device.changed);
}

int cuEventCreate(struct CUevent_st **ret_event, unsigned flags)
{
    int r = call_begin(CALL_cuEventCreate);
    struct CUevent_st *event = r == 0 ? calloc(1, sizeof *event) : NULL;

    (void)flags;
    if (event) {
        event->next = events;
        events = event;
        *ret_event = event;
    } else if (r == 0) {
        r = RESULT_OUT_OF_MEMORY;
    }
    return call_end(r);
}

// The work that was to reach it finds it gone, and leaves it at that.
int cuEventDestroy_v2(struct CUevent_st *event)
{
    int r = call_begin(CALL_cuEventDestroy_v2);
    struct CUevent_st **at = find(event);

    if (r == 0 && !at) {
        r = RESULT_INVALID_HANDLE;
    } else if ((r == 0 || call_was_told()) && at) {
        *at = event->next;
        free(event);
    }
    return call_end(r);
}

static int reach(struct CUstream_st *stream, void *payload)
{
    struct CUevent_st **at;

    (void)stream;
    pthread_mutex_lock(&device.lock);
    at = find(*(struct CUevent_st **)payload);
    if (at) {
        (*at)->reached++;
        (*at)->time_ns = clock_now_ns();
        pthread_cond_broadcast(&device.changed);
    }
    pthread_mutex_unlock(&device.lock);
    return 0;
}

int cuEventRecord(struct CUevent_st *event, struct CUstream_st *handle)
{
    int r = call_begin(CALL_cuEventRecord);
    struct CUstream_st *stream = r == 0 ? stream_find(handle) : NULL;

    if (r == 0 && (!stream || !find(event)))
        r = RESULT_INVALID_HANDLE;
    if (r == 0) {
        r = stream_queue(stream, reach, &event, sizeof event, NULL);
        event->recorded += r == 0;
        event->stream = stream;
        event->position = stream->queued;
    }
    return call_end(r);
}

static bool is_reached(const struct CUevent_st *event)
{
    return event->reached >= event->recorded;
}

struct awaited {
    struct CUevent_st *event;
    uint64_t recorded; // when the wait was queued
};

static int await(struct CUstream_st *stream, void *payload)
{
    const struct awaited *awaited = payload;
    struct CUevent_st **at;

    (void)stream;
    pthread_mutex_lock(&device.lock);
    while ((at = find(awaited->event)) && (*at)->reached < awaited->recorded && device.lost == 0)
        pthread_cond_wait(&device.changed, &device.lock);
    pthread_mutex_unlock(&device.lock);
    return 0;
}

int cuStreamWaitEvent(struct CUstream_st *handle, struct CUevent_st *event, unsigned flags)
{
    int r = call_begin(CALL_cuStreamWaitEvent);
    struct CUstream_st *stream = r == 0 ? stream_find(handle) : NULL;

    if (r == 0 && (!stream || !find(event) || flags != 0))
        r = RESULT_INVALID_HANDLE;
    if (r == 0) {
        const struct awaited awaited = {event, event->recorded};

        r = stream_queue(stream, await, &awaited, sizeof awaited, NULL);
    }
    return call_end(r);
}

int cuEventQuery(struct CUevent_st *event)
{
    int r = call_begin(CALL_cuEventQuery);

    if (r == 0 && !find(event))
        r = RESULT_INVALID_HANDLE;
    // A real GPU is done in time, however busy the machine's CPUs are.
    while (r == 0 && !is_reached(event) && !event->stream->told) {
        pthread_cond_wait(&device.changed, &device.lock);
        r = device.lost;
    }
    if (r == 0 && !is_reached(event))
        r = RESULT_NOT_READY;
    else if (r == 0 && event->stream)
        stream_note_seen(event->stream, event->position);
    return call_end(r);
}

// The real one may crash on an event that is gone.
int cuEventSynchronize(struct CUevent_st *event)
{
    int r = call_begin(CALL_cuEventSynchronize);

    if (r == 0 && !find(event)) {
        fprintf(stderr, "fake_cuda: a thread waits for an event that is gone\n");
        abort();
    }
    while (r == 0 && find(event) && !is_reached(event)) {
        pthread_cond_wait(&device.changed, &device.lock);
        r = device.lost;
    }
    return call_end(r);
}

int cuEventElapsedTime(float *milliseconds, struct CUevent_st *start, struct CUevent_st *end)
{
    int r = call_begin(CALL_cuEventElapsedTime);

    if (r == 0 && (!find(start) || !find(end) || start->recorded == 0 || end->recorded == 0))
        r = RESULT_INVALID_HANDLE;
    else if (r == 0 && (start->reached < start->recorded || end->reached < end->recorded))
        r = RESULT_NOT_READY;
    else if (r == 0)
        *milliseconds = (float)(end->time_ns - start->time_ns) / (float)NS_PER_MS;
    return call_end(r);
}
