// Shared by threshold.cu and the C code that launches it: parameters, kernel names, geometry.
#pragma once

#include "kernels/gpu/tile_cuda.h"
#include "kernels/levels/levels_cuda.h"

// Rows a thread of threshold_compare makes.
#define THRESHOLD_CUDA_ROWS 4

struct threshold_compare_cuda {
    uint64_t input;  // device address of gray, a multiple of 8
    uint64_t output; // device address of the 8 bit picture
    uint64_t state;  // device address of a levels_cuda_state that has the level; 0: `level` is it
    uint32_t input_stride, output_stride; // bytes, the input's a multiple of 8
    uint32_t width, height;               // pixels, 1 and up
    uint32_t level;
    uint32_t white, black; // four pixels of either
};
