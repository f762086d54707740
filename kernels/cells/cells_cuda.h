// The parameters of cells.cu. Its kernels are named cells_<layout>.
#pragma once

#include "kernels/gpu/job.h"

// Threads of a block, which makes a row of cells.
#define CELLS_CUDA_THREADS 256
// Columns of the widest picture.
#define CELLS_CUDA_WIDTH_MAX 8192

struct cells_cuda {
    struct gpu_job job; // from plane 0 of the camera's picture to the cells
    uint32_t side;      // pixels of a cell, at most 257
    uint32_t columns;   // cells of a row
};
