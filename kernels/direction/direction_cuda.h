// The parameters of direction.cu. Its kernels are named direction_<layout>_<nv12|rgb3> of Sobel
// 3x3, and for any operator direction_any_<nv12|rgb3>, which take gray alone.
#pragma once

#include "kernels/gpu/job.h"

// Of every direction, numbered n (direction.c), at 2 (n & 255) + n / 256: what a magnitude is
// multiplied with, as halves, for U in the lower half of a word and V in the upper one, and for Y;
// and for RGB the factor of the middle channel, 0..256, in the upper half, below it the selector of
// a byte permutation of (product, magnitude). The bytes before a table are read, and multiplied
// with 0, where there is no gradient.
#define DIRECTION_CUDA_COLOURS 512

struct direction_cuda_colours {
    uint32_t no_uv[4]; // 0
    uint32_t uv[DIRECTION_CUDA_COLOURS];
    uint16_t y[DIRECTION_CUDA_COLOURS];
    uint32_t no_rgb[4]; // bytes that are 0
    uint32_t rgb[DIRECTION_CUDA_COLOURS];
};

struct direction_cuda {
    struct gpu_job job;
    uint64_t thresholds; // device address of 256 uint32_t, as in gradient_cuda.h
    uint64_t colours;    // device address of a struct direction_cuda_colours
    float gain;
    uint32_t l1;                  // the norm; else l2
    uint32_t vectors;             // addresses and strides are multiples of what vectors want
    uint32_t direct;              // so they are, gain is 1, of l2: the thresholds may go unread
    int32_t smooth[5], derive[5]; // of the kernels for any operator, the middle at 2
};
