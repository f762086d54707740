// What threshold.cu and the C code that launches it agree on: parameters, kernel names, geometry.
#pragma once

#include "kernels/tile_cuda.h"

// Rows a thread of threshold_compare makes.
#define THRESHOLD_CUDA_ROWS 4
// Threads a block of threshold_histogram, and rows it takes at a time.
#define THRESHOLD_CUDA_THREADS 256
#define THRESHOLD_CUDA_BLOCK_ROWS (THRESHOLD_CUDA_THREADS / 32)

// What an automatic threshold has on the device, all zero before the first picture.
struct threshold_cuda_state {
    uint32_t histogram[256]; // zero between pictures
    uint32_t blocks;         // that have added to it; zero between pictures
    uint32_t level;          // of the last picture
};

struct threshold_compare_cuda {
    uint64_t input;  // device address of gray, a multiple of 8
    uint64_t output; // device address of the 8 bit picture
    uint64_t state; // device address of a threshold_cuda_state that has the level; 0: `level` is it
    uint32_t input_stride, output_stride; // bytes, the input's a multiple of 8
    uint32_t width, height;               // pixels, 1 and up
    uint32_t level;
    uint32_t white, black; // four pixels of either
};

// The one kernel whose grid is its own: any number of blocks.
struct threshold_histogram_cuda {
    uint64_t input;         // device address of gray, a multiple of 16
    uint64_t state;         // device address of a threshold_cuda_state
    uint32_t input_stride;  // bytes, a multiple of 16
    uint32_t width, height; // pixels, 1 and up
};
