// Shared by morphology.cu and the C code that launches it: parameters, kernel names, geometry.
#pragma once

#include "kernels/gpu/job.h"

// Rows a thread makes with squares that reach `times` pixels.
#define MORPHOLOGY_CUDA_ROWS(times) ((times) <= 5 ? 4 : 6)

struct morphology_cuda {
    struct gpu_job job;    // from black and white, 0 and 255, at multiples of 8
    uint32_t erodes;       // all ones, for a dilation 0
    uint32_t white, black; // four pixels of either, of the output
};

// morphology_<times>, each for erosion and dilation.
#define MORPHOLOGY_CUDA_KERNELS(X)                                                                 \
    X(1)                                                                                           \
    X(2)                                                                                           \
    X(3)                                                                                           \
    X(4)                                                                                           \
    X(5)                                                                                           \
    X(6)                                                                                           \
    X(7)                                                                                           \
    X(8)
