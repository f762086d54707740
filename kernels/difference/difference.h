// Row stage that scans: 255 where a gray pixel differs from the one of the frame before by more
// than the threshold, else 0: |gray - previous gray| > threshold. The first frame has none before
// it and differs nowhere. With an automatic threshold, |gray - previous gray| itself.
//
// The scan compares all rows with those of the frame before and keeps them in their place.
// Differing pixels lie in a plane of one bit a pixel (bits.h), which the stage's rows are made of.
#pragma once

#include "kernels/stage/gpu_stage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The difference from the frame before on the GPU: the gray of two frames, which point.cu and
// motion.cu read and write.

// The gray of two frames; the older one is overwritten.
struct difference_gpu {
    struct gpu_plane gray[2]; // the stage's; of this frame and the one before
    unsigned current;         // number of the newer one
    bool any;                 // there was a frame since difference_gpu_forget()
};

// Errors of gpu_plane_init().
int difference_gpu_init(struct difference_gpu *difference, struct gpu_stage *stage,
                        const struct gpu_stage_setup *setup, struct error *error);
// The next frame is the first again.
void difference_gpu_forget(struct difference_gpu *difference);
// Begins a frame: returns where its gray is to be written, and where the gray of the frame before
// is, 0 for the first.
void difference_gpu_next(struct difference_gpu *difference, uint64_t *ret_current,
                         uint64_t *ret_previous);
