// Shared by canny.cu and the C code that launches it: parameters, kernel names, geometry.
#pragma once

#include "kernels/levels/levels_cuda.h"

// Pixels of a row that a thread makes. The rows are best a multiple of CANNY_CUDA_STEP, after which
// its registers have the same roles again.
#define CANNY_CUDA_PIXELS 4
#define CANNY_CUDA_STEP 6

struct canny_cuda {
    uint64_t input; // device address of plane 0
    uint64_t marks; // device address of a byte for four pixels x to x + 3, at x / 4: bit i is
                    // whether pixel x + i is a candidate, bit 4 + i whether it is a strong one;
                    // what lies past the picture's width is undefined
    uint32_t input_stride, marks_stride; // bytes
    uint32_t width, height;              // pixels, 1 and up
    uint32_t rows;                       // a thread makes, 1 and up; the grid is made for it
    struct levels_cuda_limits limits;
    uint64_t found; // device address of those that canny_planar_median takes instead
};

// One kernel for each input layout, named canny_<planar|yuyv|uyvy|rgb3|bgr3|xr24>; and
// canny_planar_median, whose limits levels.cu finds.
#define CANNY_CUDA_KERNELS(X)                                                                      \
    X(planar)                                                                                      \
    X(yuyv)                                                                                        \
    X(uyvy)                                                                                        \
    X(rgb3)                                                                                        \
    X(bgr3)                                                                                        \
    X(xr24)
