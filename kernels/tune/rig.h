// Something to be timed, with pictures to run on in one kind of memory: a stage or a view on the
// CPU, a view's kernels on a GPU, or a whole view there, from the CPU to the CPU. The GPU's own
// clock times kernels, whose pictures rotate through more memory than the GPU caches.
#pragma once

#include "kernels/graph/runner.h"
#include "kernels/graph/view.h"

#define RIG_PICTURES_MAX 32

struct rig {
    size_t bytes;                              // that are read and written for a picture
    struct frame_layout input, output;         // of the pictures
    struct view *view;                         // owned; NULL: what is timed is the next
    struct runner runner;                      // owned; a stage, or kernels
    struct gpu *gpu;                           // not owned; of the kernels
    struct CUevent_st *start, *end;            // owned; around them
    const struct frame_allocator *allocator;   // not owned; of the frames
    struct frame *frames[2][RIG_PICTURES_MAX]; // owned references; of inputs and outputs
    uint64_t addresses[2][RIG_PICTURES_MAX];   // of the frames, for kernels
    unsigned wanted, count;                    // pictures of either kind, and those that are there
    unsigned next;                             // the one that comes next
    int64_t wait_ns;                           // how long the GPU may take for one; 0: 5 s
};

// All: -EAGAIN: there is nothing to time, as the view passes pictures through or has no kernels;
// -ENOTSUP, -ENOMEM, what CUDA says. End it with rig_finish() in any case.
//
// The stage that does `step` of a view of pictures like `input`, on the CPU.
int rig_init_stage(struct rig *rig, const struct plan_step *step, const struct frame_layout *input,
                   struct pool *pool, struct error *error);
// The setup's view.
int rig_init_view(struct rig *rig, const struct view_setup *setup, struct error *error);
// The kernels of the setup's view on the setup's GPU, in the memory of its allocator. Its pictures
// are not there yet, of which rig_add_pictures() makes one of either kind: 1: there are more to be
// made, 0: that was the last. rig_fill() makes all. Both: -ENOMEM, what CUDA says.
int rig_init_kernels(struct rig *rig, const struct view_setup *setup, struct error *error);
int rig_add_pictures(struct rig *rig, struct error *error);
int rig_fill(struct rig *rig, struct error *error);
// Takes zeroed and half-built ones. After an error of the two below on a GPU, it is lost.
void rig_finish(struct rig *rig);

// For struct timed, with a rig as context. How many microseconds the next picture takes; or a copy
// that reads and writes as many bytes in the same memory (not of a view on a GPU). Errors are
// those of view_run(), CUDA's, and -ETIMEDOUT after `wait_ns`.
int rig_time(void *rig, struct error *error, double *ret_us);
int rig_time_copy(void *rig, struct error *error, double *ret_us);

// A frame of a scene neither flat nor pure noise, which the caller owns. -ENOMEM.
int scene_frame_new(const struct frame_layout *layout, const struct frame_allocator *allocator,
                    struct error *error, struct frame **ret_frame);
