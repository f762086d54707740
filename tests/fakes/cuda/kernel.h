// edged's kernels, computed by the CPU: by their own .cu, but for the self-tests and the probe, for
// which something stands here that reads and writes what the .cu would, and nothing else.
#pragma once

#include "tests/fakes/cuda/stream.h"

#include <stddef.h>

#define KERNEL_PARAMETERS_MAX 4
#define KERNEL_PARAMETER_BYTES 256 // of all, each at a multiple of 8

struct launch {
    struct CUstream_st *stream;
    const char *name;
    uint32_t threads_x, threads_y; // of the whole grid; what is folded into z counts as y
    uint32_t block_x, block_y;     // of a block
    bool illegal;                  // to use an address that no device has
    unsigned slow_ms;              // to take so long before
    bool hang;                     // to take for ever
    bool wrong;                    // to get a bit of the result wrong
    uint8_t parameters[KERNEL_PARAMETER_BYTES] __attribute__((aligned(16)));
};

struct kernel_kind {
    const char *const *names;            // up to NULL; of kernel_cu_find() NULL
    size_t sizes[KERNEL_PARAMETERS_MAX]; // of the parameters, 0 past the last
    // 0 or RESULT_ILLEGAL_ADDRESS. Without the lock.
    int (*run)(const struct launch *launch);
};

extern const struct kernel_kind kernel_selftest;

// One of those that run their .cu, by its name; NULL: it is none.
const struct kernel_kind *kernel_cu_find(const char *name);
// The kind that has the kernel `name`, NULL if none has.
const struct kernel_kind *kernel_find(const char *name);

// For the kinds. Where a plane is, as memory_touch() finds it: `rows` rows (at least 1), `bytes` of
// each, `stride` bytes apart. NULL: it may not be touched.
void *kernel_touch_rows(const struct launch *launch, uint64_t address, size_t stride, size_t bytes,
                        uint32_t rows);
