// The parameters of flip.cu and its geometry. Its kernels are named flip_<format>: of YUV to nv12,
// of grey to grey, of RGB to rgb3.
#pragma once

#include "kernels/gpu/job.h"

// Rows and columns of pixels that a thread turns.
#define FLIP_CUDA_SIDE JOB_PIXELS
// Threads a block, and those of a warp, whose tiles lie side by side and below each other.
#define FLIP_CUDA_THREADS 128
#define FLIP_CUDA_WARP 32
// How many of a warp's tiles lie side by side: with swapped axes fewer, so that those below each
// other, whose rows become columns, fill whole sectors of memory as well.
#define FLIP_CUDA_COLUMNS(swapped) ((swapped) ? 4 : FLIP_CUDA_WARP)

struct flip_cuda {
    struct gpu_job job;                       // of the camera's picture to the flipped one
    uint32_t swapped, mirrored_x, mirrored_y; // axes first, then left and right, top and bottom
    uint32_t across;                          // warps that cover a row of pixels
};
