// What `edgectl bench` measures for one view: on the CPU every stage and the whole view, on a GPU
// the kernel and the whole view; each beside a copy that moves as many bytes, all taken in turns.
#pragma once

#include "daemon/ctl/bench/samples.h"
#include "daemon/ctl/gpu_session.h"
#include "daemon/ctl/progress.h"

#define BENCH_ROWS_MAX 24 // of one view: its stages and, on either backend, the whole

struct bench_row {
    const char *what;    // "stage", "kernel" or "view"
    char name[64];       // of the stage, the kernels in the configuration, the view
    char backend[16];    // "CPU", "CPU x4" with so many threads, "CUDA sm_87"
    const char *memory;  // "host", "device", "registered", …; static
    size_t bytes;        // read and written for a picture
    struct summary time; // microseconds
    struct summary copy; // of a copy that reads and writes as many bytes in this memory
};

struct bench_rows {
    struct bench_row rows[BENCH_ROWS_MAX];
    size_t count;
};

struct bench_request {
    const struct config_view *view;
    const struct frame_layout *input;
    struct pool *pool; // of what the CPU computes; NULL: one thread
    unsigned runs;     // 1..SAMPLES_MAX
};

// Append rows; none for a view that passes pictures through, fewer after interrupt_seen().
// -ENOTSUP, -ENOMEM.
int bench_cpu(const struct bench_request *request, struct error *error, struct bench_rows *rows);
// The same; CUDA's errors, after which the session is marked as lost.
int bench_cuda(const struct bench_request *request, struct gpu_session *session,
               struct error *error, struct bench_rows *rows);
