// Shared by levels.cu and the C code that launches it: parameters, kernel names, geometry.
#pragma once

#include "kernels/gpu/job.h"

// Threads a block, and bytes of a row that a warp counts at a time, from a multiple of
// LEVELS_CUDA_VECTOR on.
#define LEVELS_CUDA_THREADS 512
#define LEVELS_CUDA_SEGMENT 1024
#define LEVELS_CUDA_VECTOR 16

// Limits on n = gx² + gy² of Canny (canny.h).
struct levels_cuda_limits {
    float low, high; // times 2^-48
    uint32_t quiet;  // largest u for which 2 u² <= low: gradients that small are no candidates
};

// State of a picture's levels on the device, all zero before the first picture.
struct levels_cuda_state {
    uint32_t histogram[256];          // zero between pictures
    uint32_t blocks;                  // that have added to it; zero between pictures
    uint32_t level;                   // of levels_otsu: of the last picture
    struct levels_cuda_limits limits; // of levels_median: of the last picture
};

struct levels_cuda {
    uint64_t input; // device address of gray
    uint64_t state; // device address of a levels_cuda_state
    uint32_t input_stride;
    uint32_t width, height; // pixels, 1 and up
};

// For any number of blocks: the warps of all of them take the segments of the rows in turn.
#define LEVELS_CUDA_KERNELS(X)                                                                     \
    X(otsu)                                                                                        \
    X(median)
