// What the views of one camera have in common: the first steps of their plans, as far as they are
// equal, are made once a frame for all views that are active.
//
// Where plans part, what they have in common so far goes into a plane (segment.h) that each goes on
// from. So nothing but time depends on it: every picture is the same, bit for bit, and where a
// plane cannot be had the views compute all by themselves. Used by one thread, but for
// shared_count().
#pragma once

#include "kernels/graph/segment.h"

struct shared;

// A view as the others see it. All but `start` and `from` is its own to fill in before it joins.
struct sharer {
    const struct plan *plan;
    struct mask_plane *mask;           // of the plan, not owned; NULL: none
    const struct frame_layout *camera; // of its input
    struct pool *pool;                 // for the CPU; NULL: the caller's thread alone
    struct gpu *gpu;                   // computes it; NULL: the CPU does
    const struct config_block *blocks; // for the GPU; may be NULL
    bool mapped;                       // as of gpu_pipeline_init()
    // Steps before number `start` are left out from now on; 0: none, which never fails. -ENOMEM, or
    // what the GPU says.
    int (*set_start)(void *context, unsigned start);
    void *context;
    bool active;
    unsigned start;       // of the view's own steps
    struct segment *from; // not owned; makes what that one reads; NULL: the camera does
};

// -ENOMEM.
int shared_new(struct shared **ret_shared);
// Takes NULL. All views have left.
void shared_free(struct shared *shared);

// A mask like that of a view that has joined is that one: steps with it are equal then. Takes the
// caller's reference and returns one. `shared` may be NULL.
struct mask_plane *shared_merge_mask(struct shared *shared, struct mask_plane *mask);
// A view's life. `shared` may be NULL in all below: then nothing is shared. -ENOMEM.
int shared_join(struct shared *shared, struct sharer *sharer);
void shared_leave(struct shared *shared, struct sharer *sharer); // fine where it has not joined
// Only active views share, and those that are not must not be run in between.
void shared_set_active(struct shared *shared, struct sharer *sharer, bool active);
// The blocks of a view have changed.
void shared_renew(struct shared *shared);

// The next frame begins: before any of its views is run.
void shared_begin(struct shared *shared);
// Its number, from 1.
uint64_t shared_frame(const struct shared *shared);
// A view has been run.
void shared_note_run(struct shared *shared, const struct sharer *sharer);

// Any thread. How often stages of a kind were computed, and how often a view had the result of
// another's instead.
struct shared_count {
    uint64_t runs, shared;
};
struct shared_count shared_count(const struct shared *shared, enum stage_kind kind);
