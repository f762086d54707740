// Shared by mask.cu and the C code that launches it: parameters, kernel names, geometry.
#pragma once

#include "kernels/gpu/tile_cuda.h"

// Rows a thread makes.
#define MASK_CUDA_ROWS 4

struct mask_cuda {
    uint64_t input;  // device address of 8 bit gray
    uint64_t mask;   // 0 and 255, a multiple of 8, rows with room for whole tiles
    uint64_t output; // a byte a pixel
    uint32_t input_stride, mask_stride, output_stride; // bytes, the mask's a multiple of 8
    uint32_t width, height;                            // pixels, 1 and up
};

// One kernel for each range, named mask_<range>.
#define MASK_CUDA_KERNELS(X)                                                                       \
    X(full)                                                                                        \
    X(limited)
