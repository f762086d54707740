// A view with a picture to run on, to be timed from the CPU to the CPU.
#pragma once

#include "kernels/graph/view.h"

struct view_rig {
    struct view *view;   // owned
    struct frame *input; // owned reference
};

// Errors of view_new(); -ENOMEM. End it with view_rig_finish() in any case.
int view_rig_init(struct view_rig *rig, const struct view_setup *setup, struct error *error);
void view_rig_finish(struct view_rig *rig);
// For struct timed, with a struct view_rig as context: errors of view_run().
int view_rig_time(void *rig, struct error *error, double *ret_us);

// A frame of a scene neither flat nor pure noise, which the caller owns. -ENOMEM.
int scene_frame_new(const struct frame_layout *layout, const struct frame_allocator *allocator,
                    struct error *error, struct frame **ret_frame);
// The same in `size` bytes, rows `stride` bytes apart.
void draw_scene(uint8_t *data, size_t size, size_t stride);
