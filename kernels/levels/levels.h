// How often each level of gray occurs, the histogram of a picture, and the threshold that follows.
#pragma once

#include "kernels/levels/levels_cuda.h"
#include "kernels/stage/gpu_stage.h"

#include <stddef.h>
#include <stdint.h>

struct pool;

// Counts the pixels of `height` rows of `width`, `stride` bytes apart, with the threads of `pool`;
// NULL: with the caller's alone.
void levels_count(struct pool *pool, const uint8_t *plane, size_t stride, uint32_t width,
                  uint32_t height, uint32_t ret_histogram[256]);

// The level, 1 to 255, from which on pixels are white by Otsu's method (N. Otsu, "A threshold
// selection method from gray-level histograms", 1979): of all levels the one with the largest
// variance between the pixels below and the rest; the lowest of several alike. In double arithmetic
// in the order OpenCV has it, so equal to cv2.THRESH_OTSU + 1. At least one pixel was counted.
uint8_t levels_otsu(const uint32_t histogram[256]);

// Part of a stage: the levels of a picture on the GPU, and the automatic threshold that follows.
// The stage's kernels read it from device memory, so the host need not wait for it.
struct levels_gpu {
    uint64_t state;             // the stage's device memory, a levels_cuda_state; 0: none
    struct CUfunc_st *function; // of the kernel
    unsigned blocks;            // that the GPU runs at once
};

// `function` is a kernel of levels_cuda.h. -ENOENT, -ENOMEM, what else CUDA says.
int levels_gpu_init(struct levels_gpu *levels, struct gpu_stage *stage, const char *function,
                    struct error *error);

// Adds the kernel for plane 0 of `input`, which is gray. Errors of gpu_chain_add_fixed().
int levels_gpu_add(const struct levels_gpu *levels, const struct gpu_picture *input,
                   struct gpu_chain *chain, struct error *error);
