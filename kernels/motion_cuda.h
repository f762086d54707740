// What motion.cu and the C code that launches it agree on: parameters, kernel names, geometry.
#pragma once

#include "kernels/convert_cuda.h"

struct motion_cuda {
    struct convert_cuda picture;          // to NV12, not marked yet
    uint64_t previous, current;           // as difference_cuda.h has them
    uint64_t output;                      // a bit a pixel, 8 a byte, the first lowest
    uint32_t plane_stride, output_stride; // bytes
    uint32_t threshold;                   // 0..255
};

// One kernel for each format, named motion_<format>.
#define MOTION_CUDA_KERNELS(X)                                                                     \
    X(nv12)                                                                                        \
    X(yu12)                                                                                        \
    X(nv21)                                                                                        \
    X(yuyv)                                                                                        \
    X(uyvy)                                                                                        \
    X(422p)                                                                                        \
    X(444p)                                                                                        \
    X(grey)                                                                                        \
    X(rgb3)                                                                                        \
    X(bgr3)                                                                                        \
    X(xr24)
