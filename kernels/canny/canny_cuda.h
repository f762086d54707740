// The parameters of canny.cu and its geometry. Its kernels are named canny_<layout>; there is
// canny_planar_median, too, whose limits levels.cu finds.
#pragma once

#include "kernels/levels/levels_cuda.h"

// Pixels of a row that a thread makes. The rows are best a multiple of CANNY_CUDA_STEP, after which
// its registers have the same roles again.
#define CANNY_CUDA_PIXELS 4
#define CANNY_CUDA_STEP 6

// The output is a byte for four pixels x to x + 3, at x / 4: bit i is whether pixel x + i is a
// candidate, bit 4 + i whether it is a strong one; what lies past the picture's width is undefined.
struct canny_cuda {
    struct gpu_job job;
    struct levels_cuda_limits limits;
    uint64_t found; // device address of those that canny_planar_median takes instead
};
