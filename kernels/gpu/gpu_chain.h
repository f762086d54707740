// The launches that make one picture, in the GPU's stream.
//
// For every picture the launches are added anew, between gpu_chain_begin() and gpu_chain_end(), and
// run in the order they were added. Several launches become a CUDA graph, which is replayed for the
// next picture if that has the same functions, blocks and grids; only parameters that changed are
// set. Otherwise launches are queued one by one as they are added, so that gpu_kernel_launch() can
// refuse a block: when something is new, when a picture has a single launch, and always where
// graphs are missing or fail, of which there is a complaint.
// Used by one thread at a time, in which the GPU's context is current.
#pragma once

#include "kernels/gpu/gpu_kernel.h"

// Launches of a picture, and bytes of parameters of each.
#define GPU_CHAIN_LAUNCHES_MAX 64
#define GPU_CHAIN_PARAMETERS_MAX 256

struct gpu_chain;

// `graphs` false: all pictures are launched one by one. -ENOMEM. Free it with gpu_chain_free().
int gpu_chain_new(struct gpu *gpu, bool graphs, struct error *error, struct gpu_chain **ret_chain);
// Takes NULL. Nothing it launched runs any more, or the GPU is lost.
void gpu_chain_free(struct gpu_chain *chain);

void gpu_chain_begin(struct gpu_chain *chain);
// A kernel over the picture of `job`, as gpu_kernel_launch(). `size` bytes from there on, which are
// the kernel's parameters, are read now.
int gpu_chain_add(struct gpu_chain *chain, struct gpu_kernel *kernel, struct gpu_job *job,
                  size_t size, struct error *error);
// A kernel whose grid and block (threads in x) are its own: nobody configures them.
int gpu_chain_add_fixed(struct gpu_chain *chain, struct CUfunc_st *function, struct gpu_grid grid,
                        unsigned threads, void *parameters, size_t size, struct error *error);
// Queues what has not been queued yet. Returns CUDA's error.
int gpu_chain_end(struct gpu_chain *chain, struct error *error);

static inline void cleanup_gpu_chain(struct gpu_chain **chain)
{
    gpu_chain_free(*chain);
}
