// A view: an ordered list of stages that turns a camera frame into the picture a viewer sees.
//
// Made for one input layout; a new layout needs a new view. Used by one thread at a time.
#pragma once

#include "kernels/gpu/gpu.h"
#include "kernels/graph/plan.h"

// Builds the stages that the settings name. -ENOTSUP when a stage takes no such format, or when a
// GPU is to compute and cannot use the allocator's memory; -ENOMEM, -EINVAL (a block that this GPU
// or kernel does not take); what the GPU says, what read_mask() says.
int view_new(const struct view_setup *setup, struct error *error, struct view **ret_view);
// Takes NULL. Output frames that are still out stay valid.
void view_free(struct view *view);

// Whether the view shares stages with others from the next graph_begin() on; not at first. It is
// run at most once a frame, and only between a graph_begin() that saw it active and the next. One
// that becomes active has forgotten what no other view has kept meanwhile.
void view_set_active(struct view *view, bool active);
// The next picture has none before it, as the view's first: nothing moves in it.
void view_forget(struct view *view);

// Computes one picture. `input` must have the view's input layout and is only read. *ret_output is
// a new reference, with pts, grab time and sequence of the input; it is `input` itself where the
// view passes frames through (NV12 camera to a camera view). The CPU may touch both afterwards,
// surfaces between frame_begin_cpu_access() and frame_end_cpu_access().
// -ENOBUFS: all output frames are still in use, the frame is to be dropped. Anything else is the
// GPU's last word (-ETIMEDOUT: not done within 1 s): it is lost to this process.
int view_run(struct view *view, struct frame *input, struct error *error,
             struct frame **ret_output);

// The same in two calls, so that the GPU works on the pictures of several views while a thread
// waits for the first of them. Whether the GPU computes the view:
bool view_is_on_gpu(const struct view *view);
// Queues the picture, which is then made before those of views queued later; what the CPU computes
// is computed here. `input` is the GPU's until frame_to_cpu(), where the GPU computes.
int view_begin(struct view *view, struct frame *input, struct error *error);
// Waits for the picture that was begun.
int view_end(struct view *view, struct error *error, struct frame **ret_output);
// Instead of view_end(), where the GPU is lost. Fine where nothing was begun.
void view_drop_picture(struct view *view);

// Before there is a view: whether a GPU, where there is one, is all that reads pictures of `input`
// for a stream of what `settings` show. Of a split it is not said.
bool view_reads_on_gpu(const struct config_view *settings, const struct frame_layout *input);

// Whether view_run() returns its input. Such frames must stay on the CPU's side.
bool view_passes_through(const struct view *view);

// Layout of the output, range and colour as they are to be signalled: all views of a camera have
// its colour, with the matrix of BT.601 if it is RGB, and computed ones are limited range.
const struct frame_layout *view_output_layout(const struct view *view);
// Whether its pictures are surfaces: of the setup's allocator, or the camera's frames.
bool view_makes_surfaces(const struct view *view);
// For the memory path and status: "CPU" here, "CUDA sm_87" with a GPU.
const char *view_backend(const struct view *view);
