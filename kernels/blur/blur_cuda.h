// Shared by blur.cu and the C code that launches it: parameters, kernel names, geometry.
#pragma once

#include "kernels/gpu/tile_cuda.h"

// Rows a thread makes; for memory of the host, where the rows above and below a tile are fetched
// anew.
#define BLUR_CUDA_ROWS 4
#define BLUR_CUDA_ROWS_MAPPED 16

struct blur_cuda {
    uint64_t input;                       // device address of gray
    uint64_t output;                      // device address of the 8 bit picture
    uint32_t input_stride, output_stride; // bytes
    uint32_t width, height;               // pixels, 1 and up
    uint32_t rows;                        // a thread makes, 1 and up
};

// blur_<3|5>.
#define BLUR_CUDA_KERNELS(X)                                                                       \
    X(3)                                                                                           \
    X(5)
