// The parameters of point.cu and the names of its kernels.
//
//   point_gray_<layout>_full, of RGB point_gray_<layout>_limited (a camera's luma keeps its range)
//   point_threshold, point_mask_<full|limited>, point_difference_<mask|measure>_<full|limited>
#pragma once

#include "kernels/gpu/job.h"

struct point_cuda {
    struct gpu_job job;
    uint64_t beside;  // mask: 0 and 255. difference: gray of the frame before, 0: there was none
    uint64_t current; // of difference: gray of this frame, to be written
    uint64_t found; // of threshold: device address of a level that levels.cu found; 0: see `level`
    uint32_t plane_stride; // bytes, of `beside` and `current`; with both a multiple of 8, and room
                           // for whole tiles
    uint32_t level;        // of threshold; of difference what a pixel has to exceed; 0..255
    uint32_t white, black; // of threshold: four pixels of either
};
