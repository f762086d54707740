// The difference from the frame before on the GPU: the gray of two frames, which difference.cu and
// motion.cu read and write.
#pragma once

#include "kernels/stage/gpu_stage.h"

// The gray of two frames; the older one is overwritten.
struct difference_gpu {
    struct gpu_plane gray[2]; // owned; of this frame and the one before
    unsigned current;         // number of the newer one
    unsigned frames;          // seen since difference_gpu_forget(), up to 1
};

// Errors of gpu_plane_init(). End it with difference_gpu_finish().
int difference_gpu_init(struct difference_gpu *difference, const struct gpu_stage_setup *setup,
                        struct error *error);
void difference_gpu_finish(struct difference_gpu *difference, struct gpu *gpu); // takes zeroed ones
// The next frame is the first again.
void difference_gpu_forget(struct difference_gpu *difference);
// Begins a frame: returns where its gray is to be written, and where the gray of the frame before
// is, 0 for the first.
void difference_gpu_next(struct difference_gpu *difference, uint64_t *ret_current,
                         uint64_t *ret_previous);
