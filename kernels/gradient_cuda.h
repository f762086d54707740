// What gradient.cu and the C code that launches it agree on: parameters, kernel names, geometry.
//
// Included from C and from CUDA, so nothing else of edged is. Device addresses are 64 bit numbers.
#pragma once

#include <stdint.h>

// A thread makes a tile of so many pixels and rows.
#define GRADIENT_CUDA_PIXELS 8
#define GRADIENT_CUDA_ROWS 4

struct gradient_cuda {
    uint64_t input;      // device address of plane 0
    uint64_t output;     // device address of the 8 bit picture
    uint64_t thresholds; // device address of 256 uint32_t, [k] the smallest n = gx² + gy² (l2) or
                         // |gx| + |gy| (l1) whose result is k or more, UINT32_MAX if none
    uint32_t input_stride, output_stride; // bytes
    uint32_t width, height;               // pixels, 1 and up
    float gain;
    uint32_t unity; // gain is 1: the thresholds may go unread
};

// One kernel for each input layout, norm and range, named
// gradient_<planar|yuyv|uyvy|rgb3|bgr3|xr24>_<l2|l1>_<full|limited>.
#define GRADIENT_CUDA_KERNELS(X)                                                                   \
    X(planar)                                                                                      \
    X(yuyv)                                                                                        \
    X(uyvy)                                                                                        \
    X(rgb3)                                                                                        \
    X(bgr3)                                                                                        \
    X(xr24)
