// Shared by motion.cu and the C code that launches it: parameters, kernel names, geometry.
#pragma once

#include "kernels/convert/convert_cuda.h"
#include "kernels/overlay/mark_cuda.h"

// The most often that differences are eroded in the launch that finds them.
#define MOTION_CUDA_ERODE_MAX 1

struct motion_cuda {
    struct convert_cuda picture;          // to NV12
    uint64_t previous, current;           // as difference_cuda.h has them
    uint64_t output;                      // a bit a pixel, 8 a byte, the first lowest
    uint32_t plane_stride, output_stride; // bytes
    uint32_t threshold;                   // 0..255
    // Of kernels that mark, which have no `output`:
    uint32_t erode; // 0 to MOTION_CUDA_ERODE_MAX
    struct mark_cuda_space space;
};

// One kernel for each format, named motion_<format>, whose picture is not marked; and for those of
// YUV motion_marked_<format>. `layout` is the one that gray.cuh reads gray of the format with.
#define MOTION_CUDA_KERNELS(X)                                                                     \
    MOTION_CUDA_YUV_KERNELS(X)                                                                     \
    X(rgb3, rgb3)                                                                                  \
    X(bgr3, bgr3)                                                                                  \
    X(xr24, xr24)
#define MOTION_CUDA_YUV_KERNELS(X)                                                                 \
    X(nv12, planar)                                                                                \
    X(yu12, planar)                                                                                \
    X(nv21, planar)                                                                                \
    X(yuyv, yuyv)                                                                                  \
    X(uyvy, uyvy)                                                                                  \
    X(422p, planar)                                                                                \
    X(444p, planar)                                                                                \
    X(grey, planar)
