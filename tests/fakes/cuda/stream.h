// Streams: each has a thread that does what was queued, in order, while the caller goes on.
#pragma once

#include "tests/fakes/cuda/device.h"

struct work;

struct CUstream_st {
    struct CUstream_st *next; // in the list of all
    pthread_t thread;
    struct work *first, *last; // queued
    // Pieces of work, counted: queued, done, known to be done by the one who queued (it asked), and
    // the last one that was a kernel.
    uint64_t queued, done, seen, last_kernel;
    char kernel[64]; // the name of that
    bool ending, abandoned;
    bool told; // a kernel was told to be slow or endless
};

// A piece of work. Called without the lock; answers what the context is lost to, or 0. Returns
// early when the stream is abandoned.
typedef int work_run(struct CUstream_st *stream, void *payload);

// All are called with the lock held unless they say otherwise.

// The stream behind a handle, the default stream for NULL; NULL: there is no such stream.
struct CUstream_st *stream_find(struct CUstream_st *handle);
// Queues `run` with a copy of `payload`; `kernel` is its name when it is one, else NULL.
int stream_queue(struct CUstream_st *stream, work_run *run, const void *payload, size_t size,
                 const char *kernel);
// The caller knows that the first `position` pieces of work are done.
void stream_note_seen(struct CUstream_st *stream, uint64_t position);
// Whether the caller knows that no kernel of the stream, or of any stream, runs any more.
bool stream_seems_idle(const struct CUstream_st *stream);
bool streams_seem_idle(void);
bool streams_are_idle(void);
// A kernel that somebody must expect to run, for messages. "" if there is none.
const char *streams_kernel(void);
// Ends the default stream, when it was used. Leaves the lock meanwhile.
void streams_end_usual(void);

// Objects that are left: streams and events. Tells each.
unsigned streams_leaks(void);
// Ends every stream, endless kernels included. Without the lock.
void streams_abandon(void);
