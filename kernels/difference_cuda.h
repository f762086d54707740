// What difference.cu and the C code that launches it agree on: parameters, kernel names, geometry.
#pragma once

#include "kernels/tile_cuda.h"

// Rows a thread makes.
#define DIFFERENCE_CUDA_ROWS 4

struct difference_cuda {
    uint64_t input;    // device address of plane 0
    uint64_t previous; // gray of the frame before; 0: there was none
    uint64_t current;  // gray of this frame, to be written; as `previous` with `plane_stride`
    uint64_t output;   // bits: a bit a pixel, 8 of them a byte, the first lowest; else 8 bits each
    uint64_t copy;     // gray once more; 0: nowhere. Bits of planar input alone
    uint32_t input_stride, plane_stride, output_stride, copy_stride; // bytes
    uint32_t width, height;                                          // pixels, 1 and up
    uint32_t threshold;                                              // 0..255; not for measure
};

// One kernel for each input layout that makes bits, named difference_<layout>_bits, and of planar
// input those that make bytes: mask and measure, in full and limited range.
#define DIFFERENCE_CUDA_BITS(X)                                                                    \
    X(planar)                                                                                      \
    X(yuyv)                                                                                        \
    X(uyvy)                                                                                        \
    X(rgb3)                                                                                        \
    X(bgr3)                                                                                        \
    X(xr24)
#define DIFFERENCE_CUDA_BYTES(X)                                                                   \
    X(mask, full)                                                                                  \
    X(mask, limited)                                                                               \
    X(measure, full)                                                                               \
    X(measure, limited)
