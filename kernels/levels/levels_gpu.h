// The levels of a picture on the GPU, and what an automatic threshold makes of them there: for
// stages whose kernels read it from device memory, so that no word with the host is needed.
#pragma once

#include "kernels/levels/levels_cuda.h"
#include "kernels/stage/gpu_stage.h"

// Part of a stage.
struct levels_gpu {
    uint64_t state;             // the stage's device memory, a levels_cuda_state; 0: none
    struct CUfunc_st *function; // of the kernel
    unsigned blocks;            // that the GPU runs at once
};

// `function` is a kernel of levels_cuda.h. -ENOENT, -ENOMEM, what else CUDA says.
int levels_gpu_init(struct levels_gpu *levels, struct gpu_stage *stage, const char *function,
                    struct error *error);

// Adds the kernel for plane 0 of `input`, which is gray. What gpu_chain_add_fixed() says.
int levels_gpu_add(const struct levels_gpu *levels, const struct gpu_picture *input,
                   struct gpu_chain *chain, struct error *error);
