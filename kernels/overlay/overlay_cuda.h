// Shared by overlay.cu and the C code that launches it: parameters, kernel names, geometry.
#pragma once

#include "kernels/convert/convert_cuda.h"

struct overlay_cuda {
    struct convert_cuda picture;
    uint64_t mask;        // device address of a byte a pixel, 0 or 255, a multiple of 8
    uint32_t mask_stride; // bytes, a multiple of 8
    uint32_t least;       // the smallest n = gx² + gy², or |gx| + |gy|, of an edge
    uint32_t l1;          // n is |gx| + |gy|
    uint32_t luma;        // the colour's Y in each byte
    uint32_t chroma;      // its U and V, twice
    uint32_t rgb;         // its red in the lowest byte, then green and blue
};

// Two kernels for each format and output, named overlay_<mask|sobel>_<input>_<output>: the mask is
// a plane, or made of the picture. `layout` is the one that gray.cuh reads gray of the format with.
#define OVERLAY_CUDA_KERNELS(X)                                                                    \
    X(grey, planar, nv12)                                                                          \
    X(nv12, planar, nv12)                                                                          \
    X(nv21, planar, nv12)                                                                          \
    X(yu12, planar, nv12)                                                                          \
    X(422p, planar, nv12)                                                                          \
    X(444p, planar, nv12)                                                                          \
    X(yuyv, yuyv, nv12)                                                                            \
    X(uyvy, uyvy, nv12)                                                                            \
    X(rgb3, rgb3, nv12)                                                                            \
    X(bgr3, bgr3, nv12)                                                                            \
    X(xr24, xr24, nv12)                                                                            \
    X(grey, planar, rgb3)                                                                          \
    X(rgb3, rgb3, rgb3)                                                                            \
    X(bgr3, bgr3, rgb3)                                                                            \
    X(xr24, xr24, rgb3)
