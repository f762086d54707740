// A view's computing on the GPU: its pipeline, and the hand-over of frames on the way in and out.
#pragma once

#include "kernels/gpu_pipeline.h"
#include "kernels/view.h"

struct view_gpu;

// For `setup->gpu`, with a plan that gpu_pipeline_supports(). -ENOTSUP (memory no GPU can use, no
// such conversion), -EINVAL (a block), -ENOENT, -ENOMEM, -EIO.
int view_gpu_new(const struct view_setup *setup, const struct plan *plan, struct error *error,
                 struct view_gpu **ret_view);
// Takes NULL. Nothing it computed runs any more, or the GPU is lost.
void view_gpu_free(struct view_gpu *view);

// Computes `output` from `input`; both are the CPU's before and after. After an error the GPU is
// lost to this process, and the frames' sides are what they are.
int view_gpu_run(struct view_gpu *view, struct frame *input, struct frame *output,
                 struct error *error);

// As view_set_blocks(), view_take_refusal() and view_take_warning().
int view_gpu_set_blocks(struct view_gpu *view, const struct config_block *blocks,
                        struct error *error);
bool view_gpu_take_refusal(struct view_gpu *view, struct error *ret_why);
bool view_gpu_take_warning(struct view_gpu *view, struct error *ret_text);
