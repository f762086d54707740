// The gradient on the GPU: a camera's picture to magnitudes in one launch (gradient.cu).
//
// Made for one input format and one setting; any size, stride and block gives the same bits as the
// CPU's gray, gradient and compose stages.
#pragma once

#include "capture/pixel_format.h"
#include "config/config.h"
#include "kernels/gpu.h"

struct gradient_gpu;

// One picture: device addresses of plane 0, strides in bytes (below 4 GiB), size in pixels. Input
// and output do not overlap. Fastest with addresses and strides that are multiples of 16.
struct gradient_gpu_picture {
    uint64_t input, output;
    size_t input_stride, output_stride;
    uint32_t width, height;
};

// `limited`: magnitudes as limited range luma, for a stream; else 0..255. `gpu` outlives the
// result. -ENOENT, -ENOMEM, -EIO.
int gradient_gpu_new(struct gpu *gpu, const struct pixel_format *input,
                     const struct config_view *settings, bool limited, struct error *error,
                     struct gradient_gpu **ret_gradient);
// Takes NULL. Nothing it launched runs any more.
void gradient_gpu_free(struct gradient_gpu *gradient);

// Threads a block, used from the next launch on; until then 32 by 8 on an integrated GPU, else 128
// by 1. Errors of gpu_block_check(), the block stays what it was.
int gradient_gpu_set_block(struct gradient_gpu *gradient, unsigned x, unsigned y,
                           struct error *error);

// Queues one picture on the GPU's stream and returns. -EINVAL: more rows than the block shape can
// cover; or what the launch says.
int gradient_gpu_launch(const struct gradient_gpu *gradient,
                        const struct gradient_gpu_picture *picture, struct error *error);

struct CUfunc_st *gradient_gpu_kernel(const struct gradient_gpu *gradient);
