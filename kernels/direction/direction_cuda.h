// Shared by direction.cu and the C code that launches it: parameters, kernel names, geometry.
#pragma once

#include "kernels/gpu/tile_cuda.h"

// Rows a thread makes; in memory of the host rows are fetched anew above and below a tile.
#define DIRECTION_CUDA_ROWS 4
#define DIRECTION_CUDA_ROWS_MAPPED 16

// Of every direction, numbered n (direction.h), at 2 (n & 255) + n / 256: what a magnitude is
// multiplied with, as halves, for U in the lower half of a word and V in the upper one, and for Y;
// and for RGB the factor of the middle channel, 0..256, in the upper half, below it the selector of
// a byte permutation of (product, magnitude). What precedes a table is read, and multiplied with 0,
// where there is no gradient.
#define DIRECTION_CUDA_COLOURS 512

struct direction_cuda_colours {
    uint32_t no_uv[4]; // 0
    uint32_t uv[DIRECTION_CUDA_COLOURS];
    uint16_t y[DIRECTION_CUDA_COLOURS];
    uint32_t no_rgb[4]; // bytes that are 0
    uint32_t rgb[DIRECTION_CUDA_COLOURS];
};

struct direction_cuda {
    uint64_t input;      // device address of plane 0
    uint64_t output[2];  // device addresses of the planes there are
    uint64_t thresholds; // device address of 256 uint32_t, as in gradient_cuda.h
    uint64_t colours;    // device address of a struct direction_cuda_colours
    uint32_t input_stride, output_stride[2]; // bytes
    uint32_t width, height;                  // pixels, 1 and up
    float gain;
    uint32_t l1;                  // the norm; else l2
    uint32_t vectors;             // addresses and strides are multiples of what vectors want
    uint32_t direct;              // so they are, gain is 1, of l2: the thresholds may go unread
    uint32_t rows;                // a thread makes, 1 and up; the grid is made for it
    int32_t smooth[5], derive[5]; // of the kernels for any operator, the middle at 2
};

// One kernel for each input layout and output, named
// direction_<planar|yuyv|uyvy|rgb3|bgr3|xr24>_<nv12|rgb3>, of Sobel 3x3; and for any operator
// direction_any_<nv12|rgb3> of gray.
#define DIRECTION_CUDA_KERNELS(X)                                                                  \
    X(planar)                                                                                      \
    X(yuyv)                                                                                        \
    X(uyvy)                                                                                        \
    X(rgb3)                                                                                        \
    X(bgr3)                                                                                        \
    X(xr24)
