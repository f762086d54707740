// What else than the camera view begins with a conversion on the GPU needs of it.
#pragma once

#include "kernels/convert_cuda.h"
#include "kernels/gpu_stage.h"

// The kernel from a camera's format to `output`. As gpu_stage_add_kernel().
int convert_gpu_add_kernel(struct gpu_stage *stage, const struct pixel_format *input,
                           const struct pixel_format *output, struct error *error);
struct convert_cuda convert_gpu_parameters(const struct gpu_picture *input,
                                           const struct gpu_picture *output);
