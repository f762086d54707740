// The difference from the frame before on the GPU: difference.cu and the two frames' gray. Shared
// with the stage that does more at once.
#pragma once

#include "kernels/stage/gpu_stage.h"

// The gray of two frames in turns.
struct difference_gpu {
    struct gpu_plane gray[2]; // owned; of this frame and the one before
    unsigned current;         // which is which
    unsigned frames;          // seen and not forgotten, up to 1
};

// Errors of gpu_plane_init(). End it with difference_gpu_finish().
int difference_gpu_init(struct difference_gpu *difference, const struct gpu_stage_setup *setup,
                        struct error *error);
void difference_gpu_finish(struct difference_gpu *difference, struct gpu *gpu); // takes zeroed ones
// The next frame is the first again.
void difference_gpu_forget(struct difference_gpu *difference);
// The next frame: where its gray is to go, and where that of the frame before is, 0 for the first.
void difference_gpu_turn(struct difference_gpu *difference, uint64_t *ret_current,
                         uint64_t *ret_previous);
