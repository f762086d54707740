// The end of a view that marks on the GPU: the camera's picture as the view has it, then what is
// marked in it. Private to the stages that end so.
#pragma once

#include "kernels/gpu_stage.h"
#include "kernels/mark_cuda.h"

// A part of a stage; kernels by their number in it.
struct mark_gpu {
    bool copies;                 // the picture is the camera's as it is: planes are copied
    unsigned picture, paint;     // kernels
    struct mark_cuda parameters; // what is the same for every picture
};

// What is marked, and where that comes from.
struct mark_gpu_mask {
    uint64_t address;
    uint32_t stride; // bytes
    uint32_t erode;  // times; of bits alone
    bool luma_done;  // the luma is in the output already
};

// `bits`: the mask has them. Adds two kernels to the stage. -ENOTSUP, errors of
// gpu_stage_add_kernel().
int mark_gpu_init(struct mark_gpu *mark, struct gpu_stage *stage,
                  const struct gpu_stage_setup *setup, bool bits, struct error *error);
int mark_gpu_launch(const struct mark_gpu *mark, struct gpu_stage *stage,
                    const struct gpu_pictures *pictures, const struct mark_gpu_mask *mask,
                    struct gpu_chain *chain, struct error *error);
