// The parameters of overlay.cu. There are two kernels for each conversion of convert.cu, named
// overlay_<mask|sobel>_<input>_<output>: the mask is a plane, or made of the picture.
#pragma once

#include "kernels/gpu/job.h"

struct overlay_cuda {
    struct gpu_job job;   // of the camera's picture
    uint64_t mask;        // device address of a byte a pixel, 0 or 255, a multiple of 8
    uint32_t mask_stride; // bytes, a multiple of 8
    uint32_t least;       // the smallest n = gx² + gy², or |gx| + |gy|, of an edge
    uint32_t l1;          // n is |gx| + |gy|
    uint32_t luma;        // the colour's Y in each byte
    uint32_t chroma;      // its U and V, twice
    uint32_t rgb;         // its red in the lowest byte, then green and blue
};
