// A view: an ordered list of stages that turns a camera frame into the picture a viewer sees.
//
// Made for one input layout; a new layout needs a new view. Used by one thread at a time.
#pragma once

#include "capture/frame_pool.h"
#include "config/config.h"

struct view;

// What a view delivers.
enum view_output {
    VIEW_OUTPUT_STREAM, // NV12 for an encoder: computed gray as 16 + (219 m + 127) / 255, chroma
                        // 128
    VIEW_OUTPUT_EXACT,  // GREY for gray and edges, RGB3 for camera: for files, no range mapping
};

// Builds the stages `settings` names for pictures laid out as `input`, with `frames` output frames
// (0: 4) from `allocator`. The settings are copied. -ENOTSUP when a stage takes no such format,
// -ENOMEM, -EINVAL.
int view_new(const struct config_view *settings, const struct frame_layout *input,
             enum view_output output, unsigned frames, const struct frame_allocator *allocator,
             struct error *error, struct view **ret_view);
// Takes NULL. Output frames that are still out stay valid.
void view_free(struct view *view);

// Computes one picture. `input` must have the view's input layout and is only read. *ret_output is
// a new reference, with pts, grab time and sequence of the input; it is `input` itself where the
// view passes frames through (NV12 camera to a camera view). -ENOBUFS: all output frames are still
// in use, the frame is to be dropped.
int view_run(struct view *view, struct frame *input, struct frame **ret_output);

// Layout of the output, its range as it is to be signalled.
const struct frame_layout *view_output_layout(const struct view *view);
// For the memory path and status: "CPU" here, "CUDA sm_87" with a GPU.
const char *view_backend(const struct view *view);
