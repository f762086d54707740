// Two views of one picture side by side on the GPU: each writes its half of the split's picture
// itself. Where it makes another format than the split, or nothing new, a conversion writes the
// half (convert.h; RGB3 to NV12 in full range), from a plane of the GPU's or from the camera's
// picture. All is queued in one stream and waited for once.
#pragma once

#include "kernels/graph/view.h"

struct split_gpu;

// One of the two.
struct split_gpu_half {
    struct view *view; // not owned
    uint32_t x;        // column of the split's picture, even for NV12
};

// Whether both views can be done so.
bool split_gpu_supports(const struct view_setup *setup, const struct split_gpu_half halves[2]);
// For views that can, whose frames it drops; `setup` is the split's, `output` its format. -EINVAL
// (a block), -ENOENT, -ENOMEM, -EIO.
int split_gpu_new(const struct view_setup *setup, const struct split_gpu_half halves[2],
                  const struct pixel_format *output, struct error *error,
                  struct split_gpu **ret_split);
// Takes NULL. Nothing it computed runs any more, or the GPU is lost.
void split_gpu_free(struct split_gpu *split);

// Queues both pictures, from the camera's to the output's planes; of computed gray the luma alone.
// What view_launch() says.
int split_gpu_launch(struct split_gpu *split, const struct gpu_pictures *pictures,
                     struct error *error);

// As view_set_blocks(), view_take_refusal() and view_take_warning(), of the conversions.
int split_gpu_set_blocks(struct split_gpu *split, const struct config_block *blocks,
                         struct error *error);
bool split_gpu_take_refusal(struct split_gpu *split, struct error *ret_why);
bool split_gpu_take_warning(struct split_gpu *split, struct error *ret_text);
