// Finds a GPU that is fit to compute a camera's views, and says what it means if there is none.
#pragma once

#include "config/config.h"
#include "kernels/gpu/gpu_memory.h"
#include "kernels/gpu/gpu_surfaces.h"

#include <stdbool.h>

// A GPU with its memory; all owned. Zeroed: none.
struct compute_gpu {
    struct gpu *gpu;
    struct gpu_memory *memory;
    struct gpu_surfaces *surfaces; // for pictures that go to an encoder; NULL: there are none
};

// Opens the GPU, and memory of the wanted kind or one after it, when the GPU passes its self-tests;
// for CONFIG_MEMORY_NVMM surfaces as well. Errors are those of gpu_new() and gpu_selftest_start(),
// and -ENOTSUP (CPU and GPU share no memory), with the reason in `error`. `passed_over` gets the
// kinds of memory that failed. The caller zeroes `found` before the call, and finishes it after it,
// whatever it returns.
int compute_gpu_find(enum config_memory wanted, struct error *error, struct error *passed_over,
                     struct compute_gpu *found);
void compute_gpu_finish(struct compute_gpu *found);

// The priority of the log message that the CPU computes instead of `backend`, because of the errno
// `code` (0: because the settings say so).
int compute_gpu_priority(enum config_backend backend, int code);
// Whether the GPU may work when it is tried again, after the errno `code` (0: the settings).
bool compute_gpu_may_return(int code);
