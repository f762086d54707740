// A flip on the GPU: the launch of flip.cu.
#pragma once

#include "config/config.h"
#include "kernels/stage/gpu_stage.h"

struct flip_gpu {
    struct gpu *gpu; // not owned; NULL: the CPU computes
    struct CUfunc_st *function;
    struct gpu_chain *chain; // owned
};

// For pictures of `input`. The GPU's context is current, as in flip_gpu_launch(). -ENOENT (no such
// kernel), -ENOMEM. End it with flip_gpu_finish() in any case.
int flip_gpu_init(struct flip_gpu *flip, struct gpu *gpu, const struct pixel_format *input,
                  struct error *error);
// Takes zeroed ones. Nothing it launched runs any more, or the GPU is lost.
void flip_gpu_finish(struct flip_gpu *flip);

// Queues one picture in the GPU's stream and returns. Fastest with addresses and strides that are
// multiples of 16. Returns CUDA's error.
int flip_gpu_launch(const struct flip_gpu *flip, enum config_flip kind,
                    const struct gpu_pictures *pictures, struct error *error);
