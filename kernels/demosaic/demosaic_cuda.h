// Shared by demosaic.cu and the C code that launches it: parameters, kernel names, geometry.
#pragma once

#include "kernels/gpu/job.h"

// Pixels and rows that a thread makes: the samples of so many pixels fill whole words in every
// format, and two rows have both rows of the mosaic.
#define DEMOSAIC_CUDA_PIXELS (2 * JOB_PIXELS)
#define DEMOSAIC_CUDA_ROWS 2
// Threads a block, whose tiles lie side by side.
#define DEMOSAIC_CUDA_THREADS 128
// Blocks that a multiprocessor is to have room for: with more of them registers are spilled.
#define DEMOSAIC_CUDA_BLOCKS 5

// How samples become 8 bit (demosaic.h); of red, green and blue.
struct demosaic_levels {
    uint32_t black, shift;
    uint32_t factors[3];
    uint32_t limits[3]; // above black: samples from there on are white
};

struct demosaic_cuda {
    struct gpu_job job;    // of the mosaic to the picture
    uint32_t row_bytes;    // of samples in a row
    uint32_t across;       // threads that cover a row of pixels
    uint32_t red_x, red_y; // where the first red is: 0 or 1
    struct demosaic_levels levels;
};

// One kernel for each way that samples lie in memory and each output, demosaic_<samples>_<output>.
#define DEMOSAIC_CUDA_KERNELS(X)                                                                   \
    X(raw8, rgb3)                                                                                  \
    X(raw16, rgb3)                                                                                 \
    X(raw10p, rgb3)                                                                                \
    X(raw12p, rgb3)                                                                                \
    X(raw8, grey)                                                                                  \
    X(raw16, grey)                                                                                 \
    X(raw10p, grey)                                                                                \
    X(raw12p, grey)
