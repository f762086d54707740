// The table that lists every stage, for the CPU and for the GPU.
#pragma once

#include "kernels/stage/gpu_stage.h"
#include "kernels/stage/stage.h"

// The stage that computes steps of that kind on the CPU. Static.
const struct stage_ops *stages_of_kind(enum stage_kind kind);

// The stage that does the most of the steps ahead on the GPU, NULL where none can begin; how many
// in `ret_count`. Static.
const struct gpu_stage_ops *stages_find_gpu(const struct gpu_stage_setup *setup,
                                            unsigned *ret_count);
