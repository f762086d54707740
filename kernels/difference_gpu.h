// The difference from the frame before on the GPU: difference.cu and the two frames' gray. Private
// to the stages that begin so.
#pragma once

#include "kernels/difference_cuda.h"
#include "kernels/gpu_stage.h"

// A part of a stage, the first: its kernel is number 0.
struct difference_gpu {
    struct gpu_plane gray[2]; // owned; of this frame and the one before
    unsigned current;         // which is which
    unsigned frames;          // seen so far, up to 2
    uint32_t threshold;
};

enum difference_gpu_form { DIFFERENCE_GPU_BITS, DIFFERENCE_GPU_BYTES };

// Whether there is a kernel for the form that takes the input as it comes.
bool difference_gpu_supports(const struct gpu_stage_setup *setup, enum difference_gpu_form form);
// Errors of gpu_stage_add_kernel() and gpu_plane_init(). End it with difference_gpu_finish().
int difference_gpu_init(struct difference_gpu *difference, struct gpu_stage *stage,
                        const struct gpu_stage_setup *setup, enum difference_gpu_form form,
                        struct error *error);
void difference_gpu_finish(struct difference_gpu *difference, struct gpu *gpu); // takes zeroed ones
// Into `output`; `copy` gets gray as well (bits of planar input), {0}: nothing does.
int difference_gpu_launch(struct difference_gpu *difference, struct gpu_stage *stage,
                          const struct gpu_picture *input, struct gpu_plane output,
                          struct gpu_plane copy, struct gpu_chain *chain, struct error *error);
