// Shared by gray.cu and the C code that launches it: parameters, kernel names, geometry.
#pragma once

#include "kernels/gpu/tile_cuda.h"

// Rows a thread makes.
#define GRAY_CUDA_ROWS 2

struct gray_cuda {
    uint64_t input;                       // device address of plane 0
    uint64_t output;                      // device address of the 8 bit picture
    uint32_t input_stride, output_stride; // bytes
    uint32_t width, height;               // pixels, 1 and up
};

// One kernel for each input layout and range, named gray_<layout>_<full|limited>. A camera's own
// luma keeps its range, so only gray computed of RGB is ever brought to limited range.
#define GRAY_CUDA_KERNELS(X)                                                                       \
    X(planar, full)                                                                                \
    X(yuyv, full)                                                                                  \
    X(uyvy, full)                                                                                  \
    X(rgb3, full)                                                                                  \
    X(bgr3, full)                                                                                  \
    X(xr24, full)                                                                                  \
    X(rgb3, limited)                                                                               \
    X(bgr3, limited)                                                                               \
    X(xr24, limited)
