// A view's kernels with pictures to run on, in one kind of memory, to be timed by the GPU's own
// clock. The pictures rotate through more memory than the GPU caches.
#pragma once

#include "kernels/gpu/gpu_memory.h"
#include "kernels/graph/gpu_runner.h"

#define GPU_RIG_PICTURES_MAX 32

struct gpu_rig_pictures {
    struct frame_pool *pool;                    // owned reference; NULL: device memory
    struct frame *frames[GPU_RIG_PICTURES_MAX]; // owned references
    uint64_t device;                            // owned; 0: frames
    uint64_t addresses[GPU_RIG_PICTURES_MAX];
};

struct gpu_rig {
    struct gpu *gpu; // not owned
    struct gpu_runner runner;
    struct CUevent_st *start, *end; // owned
    struct frame_layout input, output;
    size_t bytes;   // the view reads and writes for a picture
    unsigned count; // pictures of either kind
    unsigned next;  // of them
    struct gpu_rig_pictures inputs, outputs;
};

// For the view of `settings` over pictures like `input`. `memory`: whose frames; NULL: plain device
// memory, which no camera reaches. -EAGAIN: the view passes pictures through, or the CPU computes
// it in any case. -ENOTSUP, -ENOMEM, what CUDA says. End it with gpu_rig_finish() in any case.
int gpu_rig_init(struct gpu_rig *rig, struct gpu *gpu, const struct gpu_memory *memory,
                 const struct config_view *settings, const struct frame_layout *input,
                 struct error *error);
// Takes zeroed and half-built ones. After an error of the two below the GPU is lost.
void gpu_rig_finish(struct gpu_rig *rig);

// How many microseconds the kernels take for the next picture; or a copy that reads and writes as
// many bytes in the same memory. Errors are CUDA's, and -ETIMEDOUT after 5 s.
int gpu_rig_time_kernel(struct gpu_rig *rig, struct error *error, double *ret_us);
int gpu_rig_time_copy(struct gpu_rig *rig, struct error *error, double *ret_us);

// The bytes of a picture that is read and written: of plane 0 alone where not of every plane.
size_t view_bytes(bool reads_all, bool writes_all, const struct frame_layout *input,
                  const struct frame_layout *output);
