// Which thread of a grid runs, for kernels that are built for the CPU.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fake_cuda_size {
    uint32_t x, y, z;
};

struct fake_cuda_thread {
    struct fake_cuda_size thread, block, block_size, grid_size;
};

extern __thread struct fake_cuda_thread fake_cuda_thread;

#ifdef __cplusplus
}
#endif
