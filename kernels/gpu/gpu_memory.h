// Memory that camera, CPU, GPU and encoder address at once, in the kinds of the configuration, as
// an allocator for frame pools.
//
//   registered  our page-aligned mapping, made known to the GPU
//   pinned      the driver's, mapped for the GPU
//   managed     moved or mapped by the driver, attached to the stream for every change of side
//   host        not the GPU's
//
// Frames that only the GPU reads may lie in its own memory, `device`, which no key chooses.
//
// A kind is used once it has passed a test on this machine: what the CPU writes a kernel reads, and
// the other way round.
#pragma once

#include "capture/frame_pool.h"
#include "config/config.h"
#include "kernels/gpu/gpu.h"

struct gpu_memory;

// The first of `wanted` and the kinds after it that passes its test; for auto and nvmm, which is
// gpu_surfaces.h's, registered is the first. `why` gets what was wrong with each of those passed
// over, or is left alone. `gpu` outlives the result; NULL means host. -ENOMEM.
int gpu_memory_new(struct gpu *gpu, enum config_memory wanted, struct error *why,
                   struct gpu_memory **ret_memory);
// Takes NULL. Every pool made from it is gone.
void gpu_memory_free(struct gpu_memory *memory);

enum config_memory gpu_memory_kind(const struct gpu_memory *memory);
const struct frame_allocator *gpu_memory_allocator(const struct gpu_memory *memory);
// The GPU's own memory, "device", for frames that only views on the GPU read: no CPU may touch what
// is in them. That of gpu_memory_allocator() with the kind `host`.
const struct frame_allocator *gpu_memory_device_allocator(const struct gpu_memory *memory);
// Any thread. Once after an allocation that failed: its errno, and why in `ret_why` (may be NULL).
// 0: none did.
int gpu_memory_take_failure(struct gpu_memory *memory, struct error *ret_why);
