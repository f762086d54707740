// Shared by flip.cu and the C code that launches it: parameters, kernel names, geometry.
#pragma once

#include "kernels/convert/convert_cuda.h"

// Rows and columns of pixels that a thread turns.
#define FLIP_CUDA_SIDE TILE_CUDA_PIXELS
// Threads a block, and those of a warp, whose tiles lie side by side and below each other.
#define FLIP_CUDA_THREADS 128
#define FLIP_CUDA_WARP 32
// How many of a warp's tiles lie side by side: with swapped axes fewer, so that those below each
// other, whose rows become columns, fill whole sectors of memory as well.
#define FLIP_CUDA_COLUMNS(swapped) ((swapped) ? 4 : FLIP_CUDA_WARP)

struct flip_cuda {
    struct convert_cuda picture;              // the camera's; its output is the flipped one's
    uint32_t swapped, mirrored_x, mirrored_y; // flip_axes.h
    uint32_t across;                          // warps that cover a row of pixels
};

// One kernel for each format, named flip_<input>; what it writes comes second.
#define FLIP_CUDA_KERNELS(X)                                                                       \
    X(nv12, nv12)                                                                                  \
    X(nv21, nv12)                                                                                  \
    X(yu12, nv12)                                                                                  \
    X(422p, nv12)                                                                                  \
    X(444p, nv12)                                                                                  \
    X(yuyv, nv12)                                                                                  \
    X(uyvy, nv12)                                                                                  \
    X(grey, grey)                                                                                  \
    X(rgb3, rgb3)                                                                                  \
    X(bgr3, rgb3)                                                                                  \
    X(xr24, rgb3)
