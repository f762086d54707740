// A part of a view's picture: all of it, or a side of a split. It is the picture of a path of the
// camera's graph, or the camera's own.
//
// A part is made where it lies in the view's picture. Where a side's own format is another one, or
// it is the camera's picture, it is put there afterwards: by the CPU (split.h), or on a GPU by a
// conversion behind the path (convert.h; RGB3 to NV12 in full range). Used by one thread at a time.
#pragma once

#include "kernels/graph/graph.h"
#include "kernels/graph/view_setup.h"

struct part {
    struct plan plan;                  // no steps: the camera's picture
    struct mask_plane *mask;           // owned reference, of the plan; NULL: it has none
    struct frame_layout layout;        // of its own picture
    const struct pixel_format *format; // of the view's picture,
    uint32_t x;                        // and the column where it lies in it, even for NV12
    struct gpu *gpu;                   // not owned; NULL: the CPU computes
    struct path *path;                 // owned; NULL: the camera's picture
    struct frame_pool *own; // owned reference; of the pictures that the CPU puts in place; NULL:
                            // there are none
    // Of the GPU: what the path makes for the conversion, and that, of one stage.
    struct gpu_plane plane;
    struct gpu_runner conversion;
};

// Fills in plan, mask and layout for what `settings` show of the setup's camera. What
// plan_load_mask() says. End a zeroed or planned part with part_finish().
int part_plan(struct part *part, const struct view_setup *setup, const struct config_view *settings,
              enum view_output output, struct error *error);
// Whether there are kernels for it.
bool part_can_be_on_gpu(const struct part *part, const struct view_setup *setup);
// Makes what computes it into pictures of the layout `whole`, at column `x`, on `gpu` or, if that
// is NULL, on the CPU. What path_new() says; -ENOENT (no such conversion), -ENOMEM, -EIO.
int part_make(struct part *part, const struct view_setup *setup, struct graph *graph,
              struct gpu *gpu, const struct frame_layout *whole, uint32_t x, struct error *error);
void part_finish(struct part *part);

void part_set_active(struct part *part, bool active);
void part_forget(struct part *part);

// Makes it in `output`, a frame of the view's pictures.
void part_compute(struct part *part, const struct frame *camera, struct frame *output);
// The same queued on the GPU in two steps, as path_launch_shared() and path_launch(); of computed
// gray the luma alone.
int part_launch_shared(struct part *part, const struct gpu_pictures *pictures, struct error *error);
int part_launch(struct part *part, const struct gpu_pictures *pictures, struct error *error);
