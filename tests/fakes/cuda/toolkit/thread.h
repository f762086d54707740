// Which thread of a grid runs, for kernels that are built for the CPU, and how those of a block
// meet.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FAKE_CUDA_WARP 32

struct fake_cuda_size {
    uint32_t x, y, z;
};

struct fake_cuda_thread {
    struct fake_cuda_size thread, block, block_size, grid_size;
};

extern __thread struct fake_cuda_thread fake_cuda_thread;

// Waits for the other threads of the warp, which call it as well. Returns what each of its lanes
// gave, until the next call; 0 of lanes that it does not have.
const uint64_t *fake_cuda_meet_warp(uint64_t value);
// Waits at that barrier of the block, 0 or 1, until `threads` threads do; 0: all of the block.
void fake_cuda_meet_block(unsigned barrier, unsigned threads);

#ifdef __cplusplus
}
#endif
