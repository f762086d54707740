// A view's computing on the GPU: its pipeline, whole and without the steps that others make for it.
#pragma once

#include "kernels/graph/shared.h"
#include "kernels/graph/view.h"

struct view_gpu;

// For `setup->gpu`, with a plan that gpu_pipeline_supports(). -ENOTSUP (memory no GPU can use, no
// such conversion), -EINVAL (a block), -ENOENT, -ENOMEM, -EIO.
int view_gpu_new(const struct view_setup *setup, const struct plan *plan, struct error *error,
                 struct view_gpu **ret_view);
// Takes NULL. Nothing it computed runs any more, or the GPU is lost.
void view_gpu_free(struct view_gpu *view);

// As shared.h has it: fills in what the GPU adds to a sharer; leaves out the first steps.
void view_gpu_describe(const struct view_gpu *view, struct sharer *sharer);
int view_gpu_set_start(struct view_gpu *view, unsigned start);

// As view_forget().
void view_gpu_forget(struct view_gpu *view);

// Queues the view's picture, from the camera's to the output's planes, or from what `from` makes of
// the camera's for frame `number` (NULL: nothing is left out); pictures.input is not looked at.
// After an error the GPU is lost to this process.
int view_gpu_launch(struct view_gpu *view, struct segment *from, uint64_t number,
                    struct gpu_pictures pictures, struct error *error);

// As view_set_blocks(), view_take_refusal() and view_take_warning(), of `from`, too. For other
// blocks the view starts at its first step.
int view_gpu_set_blocks(struct view_gpu *view, const struct config_block *blocks,
                        struct error *error);
bool view_gpu_take_refusal(struct view_gpu *view, struct segment *from, struct error *ret_why);
bool view_gpu_take_warning(struct view_gpu *view, struct segment *from, struct error *ret_text);
