// The test of surfaces, for those that make them.
#pragma once

#include "capture/frame_pool.h"
#include "kernels/gpu/gpu.h"

// Whether CPU and GPU see in surfaces of the allocator what the other has written. -EIO: they do
// not; what the allocator and CUDA say.
int gpu_surfaces_probe(struct gpu *gpu, const struct frame_allocator *allocator,
                       struct error *error);
