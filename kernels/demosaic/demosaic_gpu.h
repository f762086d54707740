// The demosaic on the GPU: the launch of demosaic.cu.
#pragma once

#include "kernels/demosaic/demosaic_cuda.h"
#include "kernels/stage/gpu_stage.h"

struct demosaic_gpu {
    struct gpu *gpu; // not owned; NULL: the CPU computes
    struct CUfunc_st *function;
    struct gpu_chain *chain; // owned
};

// For pictures of `input`, to RGB3 or, without `colour`, to GREY. The GPU's context is current, as
// in demosaic_gpu_launch(). -ENOENT (no such kernel), -ENOMEM. End it with demosaic_gpu_finish() in
// any case.
int demosaic_gpu_init(struct demosaic_gpu *demosaic, struct gpu *gpu,
                      const struct pixel_format *input, bool colour, struct error *error);
// Takes zeroed ones. Nothing it launched runs any more, or the GPU is lost.
void demosaic_gpu_finish(struct demosaic_gpu *demosaic);

// Queues one picture, of the layout `input`, in the GPU's stream and returns. Fastest with
// addresses and strides that are multiples of 16. Returns CUDA's error.
int demosaic_gpu_launch(const struct demosaic_gpu *demosaic, const struct frame_layout *input,
                        const struct demosaic_levels *levels, const struct gpu_pictures *pictures,
                        struct error *error);
