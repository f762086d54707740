// Shared by gradient.cu, operator.cu and the C code that launches them: parameters, kernel names,
// geometry.
#pragma once

#include "kernels/gpu/tile_cuda.h"

// Rows a thread makes unless the configuration says: the number the kernel is fastest with in the
// GPU's own memory, and more in memory of the host, where the rows above and below a tile are
// fetched anew. Pictures of GRADIENT_CUDA_TALL rows and more keep a GPU busy with fewer threads.
#define GRADIENT_CUDA_ROWS 4
#define GRADIENT_CUDA_ROWS_MAPPED 16
#define GRADIENT_CUDA_ROWS_MAPPED_TALL 32
#define GRADIENT_CUDA_TALL 1440

struct gradient_cuda {
    uint64_t input;      // device address of plane 0
    uint64_t output;     // device address of the 8 bit picture
    uint64_t thresholds; // device address of 256 uint32_t, [k] the smallest n = gx² + gy² (l2) or
                         // |gx| + |gy| (l1) whose result is k or more, UINT32_MAX if none
    uint32_t input_stride, output_stride; // bytes
    uint32_t width, height;               // pixels, 1 and up
    float gain;
    uint32_t unity; // gain is 1: the thresholds may go unread
    uint32_t rows;  // a thread makes, 1 and up; the grid is made for it
    // Of the binary kernels: the smallest n that is white, and four pixels of either.
    uint32_t least, white, black;
};

// One kernel for each input layout, norm and range, named
// gradient_<planar|yuyv|uyvy|rgb3|bgr3|xr24>_<l2|l1>_<full|limited|binary>.
#define GRADIENT_CUDA_KERNELS(X)                                                                   \
    X(planar)                                                                                      \
    X(yuyv)                                                                                        \
    X(uyvy)                                                                                        \
    X(rgb3)                                                                                        \
    X(bgr3)                                                                                        \
    X(xr24)

// The other operators, of gray alone: operator_<scharr|prewitt|sobel5>_<l2|l1>_<full|limited>.
#define OPERATOR_CUDA_KERNELS(X)                                                                   \
    X(scharr)                                                                                      \
    X(prewitt)                                                                                     \
    X(sobel5)
