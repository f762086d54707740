// A mask marked in a picture that the GPU has made. Used by the mark and motion stages.
#pragma once

#include "kernels/overlay/mark_cuda.h"
#include "kernels/stage/gpu_stage.h"

// A part of a stage.
struct mark_gpu {
    unsigned kernel; // its number in the stage
    struct mark_cuda parameters;
};

struct mark_gpu_mask {
    uint64_t address;
    uint32_t stride; // bytes
    uint32_t erode;  // times; of bits alone
};

// What marks are made with in a camera's picture.
struct mark_cuda_space mark_gpu_space(const struct frame_layout *camera, enum config_mark mark);
// For the mark that is the setup's last step. `bits`: the mask has them, else bytes. Adds a kernel.
// As gpu_stage_add_kernel().
int mark_gpu_init(struct mark_gpu *mark, struct gpu_stage *stage,
                  const struct gpu_stage_setup *setup, bool bits, struct error *error);
// Marks the output.
int mark_gpu_launch(struct mark_gpu *mark, struct gpu_stage *stage,
                    const struct gpu_pictures *pictures, const struct mark_gpu_mask *mask,
                    struct gpu_chain *chain, struct error *error);
