// edged's kernels, computed by the CPU: each reads and writes what its .cu would, and nothing else.
#pragma once

#include "tests/fake_cuda/stream.h"

#include <stddef.h>

#define KERNEL_PARAMETERS_MAX 4
#define KERNEL_PARAMETER_BYTES 256 // of all, each at a multiple of 8

struct launch {
    struct CUstream_st *stream;
    const char *name;
    uint32_t threads_x, threads_y; // of the whole grid; what is folded into z counts as y
    bool illegal;                  // to use an address that no device has
    unsigned slow_ms;              // to take so long before
    bool hang;                     // to take for ever
    uint8_t parameters[KERNEL_PARAMETER_BYTES] __attribute__((aligned(16)));
};

struct kernel_kind {
    const char *prefix; // of the kernels' names, and the image they are in
    const char *const *names;
    size_t sizes[KERNEL_PARAMETERS_MAX]; // of the parameters, 0 past the last
    // 0 or RESULT_ILLEGAL_ADDRESS. Without the lock.
    int (*run)(const struct launch *launch);
};

// Entry `index`, NULL past the last.
const struct kernel_kind *kernel_kind_at(unsigned index);
// The kind that has the kernel `name`, NULL if none has.
const struct kernel_kind *kernel_find(const char *name);
