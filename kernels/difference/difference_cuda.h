// Shared by difference.cu and the C code that launches it: parameters, kernel names, geometry.
#pragma once

#include "kernels/gpu/tile_cuda.h"

// Rows a thread makes.
#define DIFFERENCE_CUDA_ROWS 4

struct difference_cuda {
    uint64_t input;    // device address of a plane of gray
    uint64_t previous; // gray of the frame before; 0: there was none
    uint64_t current;  // gray of this frame, to be written; as `previous` with `plane_stride`
    uint64_t output;   // a byte a pixel
    uint32_t input_stride, plane_stride, output_stride; // bytes
    uint32_t width, height;                             // pixels, 1 and up
    uint32_t threshold;                                 // 0..255; not for measure
};

// One kernel for each result and range, named difference_<result>_<range>.
#define DIFFERENCE_CUDA_KERNELS(X)                                                                 \
    X(mask, full)                                                                                  \
    X(mask, limited)                                                                               \
    X(measure, full)                                                                               \
    X(measure, limited)
