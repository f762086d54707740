// Shared by convert.cu and the C code that launches it: parameters, kernel names, geometry.
#pragma once

#include "kernels/gpu/tile_cuda.h"

// Rows of luma, or of RGB, a thread makes: those that share a row of chroma.
#define CONVERT_CUDA_ROWS 2

struct convert_cuda {
    uint64_t input[3], output[2];               // device addresses of the planes there are
    uint32_t input_stride[3], output_stride[2]; // bytes
    uint32_t width, height;                     // pixels, 1 and up
    int32_t y[3], u[3],
        v[3]; // of convert_rgb3_nv12_full: factors of red, green and blue (colour.h)
};

// One kernel for each conversion of convert.c, named convert_<input>_<output> after the formats;
// and convert_rgb3_nv12_full.
#define CONVERT_CUDA_KERNELS(X)                                                                    \
    X(yu12, nv12)                                                                                  \
    X(nv21, nv12)                                                                                  \
    X(yuyv, nv12)                                                                                  \
    X(uyvy, nv12)                                                                                  \
    X(422p, nv12)                                                                                  \
    X(444p, nv12)                                                                                  \
    X(grey, nv12)                                                                                  \
    X(rgb3, nv12)                                                                                  \
    X(bgr3, nv12)                                                                                  \
    X(xr24, nv12)                                                                                  \
    X(bgr3, rgb3)                                                                                  \
    X(xr24, rgb3)                                                                                  \
    X(grey, rgb3)                                                                                  \
    X(nv12, nv12)                                                                                  \
    X(rgb3, rgb3)
