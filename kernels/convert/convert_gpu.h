// The parts of the conversion on the GPU that stages beside the camera view use.
#pragma once

#include "kernels/convert/convert_cuda.h"
#include "kernels/stage/gpu_stage.h"

// The kernel from a camera's format to `output`, whose parameters are a struct convert_cuda. As
// gpu_stage_add_kernel().
int convert_gpu_add_kernel(struct gpu_stage *stage, const struct pixel_format *input,
                           const struct pixel_format *output, struct error *error);
// A stage that puts a side of a split in place, from `input` into pictures of the layout `output`:
// RGB3 to NV12 makes YUV of full range by its matrix. -ENOMEM; as gpu_stage_init(). End it with
// gpu_stage_finish() in any case.
int convert_gpu_init_side(struct gpu_stage *stage, struct gpu *gpu,
                          const struct pixel_format *input, const struct frame_layout *output,
                          struct error *error);
