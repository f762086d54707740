// Shared by mark.cu and the C code that launches it: parameters, kernel names, geometry.
#pragma once

#include "kernels/gpu/job.h"

// The most often a mask of bits can be eroded: what the bytes beside a byte reach.
#define MARK_CUDA_ERODE_MAX 8

// YUV to green and blue, and those with a red of 255 to YUV: factors in 20 bits.
struct mark_space {
    int32_t black, luma, u_green, v_green, u_blue;
    int32_t y_constant, y_green, y_blue, u_constant, u_green_out, u_blue_out;
    int32_t v_constant, v_green_out, v_blue_out;
    uint32_t shift; // bits that green and blue of a marked pixel lose
};

struct mark_cuda {
    struct gpu_job job;   // of the camera's picture; the output is marked
    uint64_t mask;        // bits: as motion_cuda.h has them; bytes: 0 and 255
    uint32_t mask_stride; // bytes
    uint32_t erode;       // how often, of bits
    uint32_t input_step;  // bytes a pixel of an RGB camera's picture
    uint32_t blue_first;  // its order is B, G, R
    struct mark_space space;
};

// mark_<rgb3|yuv|rgb>_<bits|bytes>: a picture in RGB3, one in NV12 of a YUV camera, one in NV12 of
// an RGB camera.
#define MARK_CUDA_KERNELS(X)                                                                       \
    X(rgb3, bits)                                                                                  \
    X(yuv, bits)                                                                                   \
    X(rgb, bits)                                                                                   \
    X(rgb3, bytes)                                                                                 \
    X(yuv, bytes)                                                                                  \
    X(rgb, bytes)
