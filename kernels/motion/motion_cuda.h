// The parameters of motion.cu. Its kernels are named motion_<format>, which write bits, and of YUV
// motion_marked_<format>, which mark the picture.
#pragma once

#include "kernels/overlay/mark_cuda.h"

// The most often that differences are eroded in the launch that finds them.
#define MOTION_CUDA_ERODE_MAX 1

struct motion_cuda {
    struct gpu_job job;                 // of the camera's picture to NV12
    uint64_t previous, current;         // as point_cuda.h has them
    uint64_t bits;                      // a bit a pixel, 8 a byte, the first lowest
    uint32_t plane_stride, bits_stride; // bytes
    uint32_t threshold;                 // 0..255
    // Of kernels that mark, which have no `bits`:
    uint32_t erode; // 0 to MOTION_CUDA_ERODE_MAX
    struct mark_space space;
};
