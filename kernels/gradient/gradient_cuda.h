// The parameters of gradient.cu. Its kernels are named
// gradient_<layout>_<l2|l1>_<full|limited|binary> of Sobel 3x3, and
// gradient_<scharr|prewitt|sobel5>_<l2|l1>_<full|limited>, which take gray alone.
#pragma once

#include "kernels/gpu/job.h"

// Rows a thread makes in memory of the host of pictures of GRADIENT_CUDA_TALL rows and more.
#define GRADIENT_CUDA_ROWS_TALL 32
#define GRADIENT_CUDA_TALL 1440

struct gradient_cuda {
    struct gpu_job job;
    uint64_t thresholds; // device address of 256 uint32_t, [k] the smallest n = gx² + gy² (l2) or
                         // |gx| + |gy| (l1) whose result is k or more, UINT32_MAX if none
    float gain;
    uint32_t unity; // gain is 1: the thresholds may go unread
    // Of the binary kernels: the smallest n that is white, and four pixels of either.
    uint32_t least, white, black;
};
