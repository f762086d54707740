// The parts of the conversion on the GPU that stages beside the camera view use.
#pragma once

#include "kernels/convert/convert_cuda.h"
#include "kernels/stage/gpu_stage.h"

// The kernel from a camera's format to `output`. As gpu_stage_add_kernel().
int convert_gpu_add_kernel(struct gpu_stage *stage, const struct pixel_format *input,
                           const struct pixel_format *output, struct error *error);
// The same for a side of a split, in pictures of the layout `output`: RGB3 to NV12 makes YUV of
// full range by its matrix. -ENOMEM, too.
int convert_gpu_add_side(struct gpu_stage *stage, const struct pixel_format *input,
                         const struct frame_layout *output, struct error *error);
struct convert_cuda convert_gpu_parameters(const struct gpu_picture *input,
                                           const struct gpu_picture *output);

// Launches the kernel that was added, from the camera's picture to the output.
extern const struct gpu_stage_ops convert_gpu_ops;
