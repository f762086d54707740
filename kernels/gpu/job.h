// Definitions shared by the kernels over a picture and the C code that launches them: the first
// member of every kernel's parameters, and the formats that kernels are named after. Included from
// C and from CUDA, so nothing else of edged is.
#pragma once

#include <stdint.h>

// Pixels of a row that a thread makes.
#define JOB_PIXELS 8
// Rows that a thread makes unless a kernel says otherwise: rows that share chroma; rows of gray; of
// gray in memory of the host, where the rows above and below a tile are fetched anew.
#define JOB_ROWS_CHROMA 2
#define JOB_ROWS 4
#define JOB_ROWS_MAPPED 16

// Kernels read that many pixels by vectors where address and stride are multiples of this.
#define JOB_VECTOR_BYTES(pixel_bytes) ((pixel_bytes) % 2 ? 8 : 16)

// Planes that a kernel does not use are anything.
struct gpu_job {
    uint64_t input[3], output[2];               // device addresses
    uint32_t input_stride[3], output_stride[2]; // bytes
    uint32_t width, height;                     // pixels of the input, 1 and up
    uint32_t rows;                              // a thread makes, 1 and up; the grid is made for it
};

// Layouts that kernels read gray from: plane 0 of a picture, rows of 1 (planar), 2 (yuyv, uyvy), 3
// (rgb3, bgr3) or 4 (xr24) bytes a pixel.
#define JOB_LAYOUTS(X)                                                                             \
    X(planar)                                                                                      \
    X(yuyv)                                                                                        \
    X(uyvy)                                                                                        \
    JOB_RGB_LAYOUTS(X)
#define JOB_RGB_LAYOUTS(X)                                                                         \
    X(rgb3)                                                                                        \
    X(bgr3)                                                                                        \
    X(xr24)

// Formats of cameras, each with the layout that gray is read from: YUV with chroma, all of YUV,
// RGB.
#define JOB_CHROMA_FORMATS(X)                                                                      \
    X(nv12, planar)                                                                                \
    X(nv21, planar)                                                                                \
    X(yu12, planar)                                                                                \
    X(422p, planar)                                                                                \
    X(444p, planar)                                                                                \
    X(yuyv, yuyv)                                                                                  \
    X(uyvy, uyvy)
#define JOB_YUV_FORMATS(X)                                                                         \
    JOB_CHROMA_FORMATS(X)                                                                          \
    X(grey, planar)
#define JOB_RGB_FORMATS(X)                                                                         \
    X(rgb3, rgb3)                                                                                  \
    X(bgr3, bgr3)                                                                                  \
    X(xr24, xr24)
