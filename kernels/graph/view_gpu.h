// A view's computing on the GPU: its pipeline, and the hand-over of frames on the way in and out.
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

// Computes `output` from `input`, or from what `from` makes of it (NULL: from `input` itself) for
// frame `number`; both are the CPU's before and after. After an error the GPU is lost to this
// process, and the frames' sides are what they are.
int view_gpu_run(struct view_gpu *view, struct segment *from, uint64_t number, struct frame *input,
                 struct frame *output, struct error *error);

// What view_gpu_run() is made of, for who puts several views' pictures into one frame. The frames
// become the GPU's, and the planes it finds; all that was queued is done, and they are the CPU's
// again. The GPU's context is current in between. Errors as above.
int view_gpu_take(struct gpu *gpu, struct frame *input, struct frame *output, struct error *error,
                  struct gpu_pictures *ret_pictures);
int view_gpu_give(struct frame *input, struct frame *output, struct error *error);
// Queues the view's picture, from the camera's to the output's planes; pictures.input is not looked
// at.
int view_gpu_launch(struct view_gpu *view, struct segment *from, uint64_t number,
                    struct gpu_pictures pictures, struct error *error);

// As view_set_blocks(), view_take_refusal() and view_take_warning(), of `from`, too. For other
// blocks the view starts at its first step.
int view_gpu_set_blocks(struct view_gpu *view, const struct config_block *blocks,
                        struct error *error);
bool view_gpu_take_refusal(struct view_gpu *view, struct segment *from, struct error *ret_why);
bool view_gpu_take_warning(struct view_gpu *view, struct segment *from, struct error *ret_text);
