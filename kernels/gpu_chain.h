// The launches that make one picture, in the GPU's stream.
//
// Between gpu_chain_begin() and gpu_chain_end() launches are added in their order, each picture
// anew. Used by one thread at a time, in which the GPU's context is current.
#pragma once

#include "kernels/gpu_kernel.h"

struct gpu_chain;

// -ENOMEM. Free it with gpu_chain_free().
int gpu_chain_new(struct gpu *gpu, struct error *error, struct gpu_chain **ret_chain);
// Takes NULL. Nothing it launched runs any more, or the GPU is lost.
void gpu_chain_free(struct gpu_chain *chain);

void gpu_chain_begin(struct gpu_chain *chain);
// A kernel over `width` x `height` pixels, as gpu_kernel_launch(). `size` bytes of `parameters` are
// read now.
int gpu_chain_add(struct gpu_chain *chain, struct gpu_kernel *kernel, void *parameters, size_t size,
                  uint32_t *rows, uint32_t width, uint32_t height, struct error *error);
// A kernel whose grid and block (threads in x) are its own: nobody configures them.
int gpu_chain_add_fixed(struct gpu_chain *chain, struct CUfunc_st *function, struct gpu_grid grid,
                        unsigned threads, void *parameters, size_t size, struct error *error);
// Whatever was added runs after what was added before. What CUDA says.
int gpu_chain_end(struct gpu_chain *chain, struct error *error);

static inline void cleanup_gpu_chain(struct gpu_chain **chain)
{
    gpu_chain_free(*chain);
}
