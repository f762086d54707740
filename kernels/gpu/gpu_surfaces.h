// Surfaces of a Jetson's NVMM that GPU, CPU and encoder address at once, as an allocator for frame
// pools: pitch-linear NV12 that the encoder takes as it is.
//
// Each surface is made known to CUDA once, by an EGLImage, and mapped for the CPU; both are slow.
// The CPU sees a surface by its cache (frame_begin_cpu_access()), the GPU sees it as it is.
#pragma once

#include "capture/frame_pool.h"
#include "kernels/gpu/gpu.h"

struct gpu_surfaces;

// Opens libnvbufsurface and tests it with the GPU: what the CPU writes into one plane a kernel
// reads, and what it writes into the other the CPU reads. `gpu` outlives the result. -ENODEV: no
// library, -EPROTO: its structs or its images are not as expected, -EIO: a call failed, or CPU and
// GPU see different bytes, -ENOMEM; what CUDA says.
int gpu_surfaces_new(struct gpu *gpu, struct error *error, struct gpu_surfaces **ret_surfaces);
// Takes NULL. Every pool made from it is gone.
void gpu_surfaces_free(struct gpu_surfaces *surfaces);

// Kind "nvmm", for NV12 alone (-ENOTSUP).
const struct frame_allocator *gpu_surfaces_allocator(const struct gpu_surfaces *surfaces);
// Any thread. Why the newest allocation failed, once; false: none did.
bool gpu_surfaces_take_failure(struct gpu_surfaces *surfaces, struct error *ret_why);
