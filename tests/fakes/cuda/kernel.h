// edged's kernels, computed by the CPU: most by their own .cu, the others by what stands for them
// here, which reads and writes what the .cu would, and nothing else.
#pragma once

#include "tests/fakes/cuda/stream.h"

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
    bool wrong;                    // to get a bit of the result wrong
    uint8_t parameters[KERNEL_PARAMETER_BYTES] __attribute__((aligned(16)));
};

struct kernel_kind {
    const char *const *names;            // up to NULL; of kernel_cu_find() NULL
    size_t sizes[KERNEL_PARAMETERS_MAX]; // of the parameters, 0 past the last
    // 0 or RESULT_ILLEGAL_ADDRESS. Without the lock.
    int (*run)(const struct launch *launch);
};

// The kinds in files of their own, whose threads work together, in the order of the alphabet.
#define KERNEL_KINDS(X)                                                                            \
    X(hysteresis)                                                                                  \
    X(levels)                                                                                      \
    X(selftest)

#define KERNEL_KIND_DECLARE(kind) extern const struct kernel_kind kernel_##kind;
KERNEL_KINDS(KERNEL_KIND_DECLARE)

// One of those that run their .cu, by its name; NULL: it is none.
const struct kernel_kind *kernel_cu_find(const char *name);
// The kind that has the kernel `name`, NULL if none has.
const struct kernel_kind *kernel_find(const char *name);

// For the kinds. Where a plane is, as memory_touch() finds it: `rows` rows (at least 1), `bytes` of
// each, `stride` bytes apart. NULL: it may not be touched.
void *kernel_touch_rows(const struct launch *launch, uint64_t address, size_t stride, size_t bytes,
                        uint32_t rows);
// Whether the grid has a thread for every tile of the picture. If not, that is told on stderr, and
// nothing is to be computed.
bool kernel_covers(const struct launch *launch, uint32_t tile_width, uint32_t tile_height,
                   uint32_t width, uint32_t height);
