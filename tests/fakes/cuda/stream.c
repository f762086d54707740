#include "tests/fakes/cuda/stream.h"

#include "tests/fakes/cuda/event.h"
#include "tests/fakes/cuda/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct work {
    struct work *next;
    work_run *run;
    char payload[] __attribute__((aligned(16)));
};

static struct CUstream_st *streams; // all
static struct CUstream_st *usual;   // the default stream, one of them, when it was used

static struct work *wait_for_work(struct CUstream_st *stream)
{
    struct work *work;

    while (!stream->first && !stream->ending)
        pthread_cond_wait(&device.changed, &device.lock);
    work = stream->first;
    if (work) {
        stream->first = work->next;
        stream->last = stream->first ? stream->last : NULL;
    }
    return work;
}

// In a lost context nothing runs any more.
static void *run_stream(void *context)
{
    struct CUstream_st *stream = context;
    struct work *work;

    pthread_mutex_lock(&device.lock);
    while ((work = wait_for_work(stream))) {
        if (device.lost == 0 && !stream->abandoned) {
            int r;

            pthread_mutex_unlock(&device.lock);
            r = work->run(stream, work->payload);
            pthread_mutex_lock(&device.lock);
            device.lost = device.lost == 0 ? r : device.lost;
        }
        free(work);
        stream->done++;
        if (device.lost != 0)
            memory_protect();
        pthread_cond_broadcast(&device.changed);
    }
    pthread_mutex_unlock(&device.lock);
    return NULL;
}

static int stream_new(struct CUstream_st **ret_stream)
{
    struct CUstream_st *stream = calloc(1, sizeof *stream);

    if (!stream || pthread_create(&stream->thread, NULL, run_stream, stream) != 0) {
        free(stream);
        return RESULT_OUT_OF_MEMORY;
    }
    stream->next = streams;
    streams = stream;
    *ret_stream = stream;
    return 0;
}

// Does what is queued first. The lock is left while its thread ends.
static void stream_end(struct CUstream_st *stream)
{
    struct CUstream_st **at = &streams;

    stream->ending = true;
    pthread_cond_broadcast(&device.changed);
    pthread_mutex_unlock(&device.lock);
    pthread_join(stream->thread, NULL);
    pthread_mutex_lock(&device.lock);
    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
    usual = usual == stream ? NULL : usual;
    memory_forget_stream(stream);
    free(stream);
}

struct CUstream_st *stream_find(struct CUstream_st *handle)
{
    struct CUstream_st *stream = streams;

    if (!handle)
        return usual || stream_new(&usual) == 0 ? usual : NULL;
    while (stream && (stream != handle || stream->ending))
        stream = stream->next;
    return stream;
}

int stream_queue(struct CUstream_st *stream, work_run *run, const void *payload, size_t size,
                 const char *kernel)
{
    struct work *work = calloc(1, sizeof *work + size);

    if (!work)
        return RESULT_OUT_OF_MEMORY;
    work->run = run;
    memcpy(work->payload, payload, size);
    *(stream->first ? &stream->last->next : &stream->first) = work;
    stream->last = work;
    stream->queued++;
    if (kernel) {
        stream->last_kernel = stream->queued;
        snprintf(stream->kernel, sizeof stream->kernel, "%s", kernel);
        memory_protect();
    }
    pthread_cond_broadcast(&device.changed);
    return 0;
}

bool stream_seems_idle(const struct CUstream_st *stream)
{
    return stream->seen >= stream->last_kernel;
}

bool streams_seem_idle(void)
{
    return streams_kernel()[0] == '\0';
}

const char *streams_kernel(void)
{
    for (const struct CUstream_st *stream = streams; stream; stream = stream->next) {
        if (!stream_seems_idle(stream))
            return stream->kernel;
    }
    return "";
}

bool streams_are_idle(void)
{
    const struct CUstream_st *stream = streams;

    while (stream && stream->done == stream->queued)
        stream = stream->next;
    return !stream;
}

void streams_end_usual(void)
{
    if (usual)
        stream_end(usual);
}

unsigned streams_leaks(void)
{
    unsigned leaks = events_leaks();

    for (const struct CUstream_st *stream = streams; stream; stream = stream->next) {
        if (stream != usual) {
            fprintf(stderr, "fake_cuda: leaked: a stream\n");
            leaks++;
        }
    }
    return leaks;
}

void streams_abandon(void)
{
    pthread_mutex_lock(&device.lock);
    for (struct CUstream_st *stream = streams; stream; stream = stream->next)
        stream->abandoned = true;
    while (streams)
        stream_end(streams);
    events_forget();
    pthread_mutex_unlock(&device.lock);
}

int cuStreamCreate(struct CUstream_st **ret_stream, unsigned flags)
{
    int r = call_begin(CALL_cuStreamCreate);

    if (r == 0 && flags > CUDA_STREAM_NON_BLOCKING)
        r = RESULT_INVALID_VALUE;
    return call_end(r == 0 ? stream_new(ret_stream) : r);
}

int cuStreamDestroy_v2(struct CUstream_st *handle)
{
    int r = call_begin(CALL_cuStreamDestroy_v2);

    if (r == 0 || call_was_told()) {
        struct CUstream_st *stream = handle ? stream_find(handle) : NULL;

        if (stream)
            stream_end(stream);
        else
            r = RESULT_INVALID_HANDLE;
    }
    return call_end(r);
}

void stream_note_seen(struct CUstream_st *stream, uint64_t position)
{
    if (stream->seen < position) {
        stream->seen = position;
        memory_protect();
    }
}
