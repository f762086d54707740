// A GPU that is fit to compute a camera's views, and what it means that there is none.
#pragma once

#include "config/config.h"
#include "kernels/gpu_memory.h"

#include <stdbool.h>

// Opens the GPU, and memory of the wanted kind or one after it, when the GPU passes its self-tests.
// What gpu_new() and gpu_selftest_start() say, -ENOTSUP (CPU and GPU share no memory), the reason
// in `error`. `passed_over` gets the kinds of memory that failed. Whatever the result, the caller
// frees what is there of memory and GPU; it sets both to NULL before.
int compute_gpu_find(enum config_memory wanted, struct error *error, struct error *passed_over,
                     struct gpu **ret_gpu, struct gpu_memory **ret_memory);

// The log's priority for the CPU computing in place of `backend`, because of the errno `code` (0:
// the settings).
int compute_gpu_priority(enum config_backend backend, int code);
// Whether the GPU may work when it is tried again, after the errno `code` (0: the settings).
bool compute_gpu_may_return(int code);
