// The graph of a camera: what its views have in common, made once a frame.
//
// A branch is the steps of one view's picture, or of one side of a split. Branches that begin alike
// share the planes that these steps make: where active branches part, what they have in common so
// far goes into a plane that each goes on from, if that is less work. Sharing changes only the
// time, never the pictures, not by a bit. Where a plane cannot be had branches stay as they were.
//
// A branch that compares frames shares nothing: what it knows of the frame before is its own.
// Used by one thread, but for graph_count().
#pragma once

#include "kernels/graph/runner.h"

struct graph;
struct graph_part;

struct graph_count {
    uint64_t runs, shared;
};

// -ENOMEM.
int graph_new(struct graph **ret_graph);
// Takes NULL. All branches are finished.
void graph_free(struct graph *graph);

// The next frame begins: before any of its pictures is made.
void graph_begin(struct graph *graph);
// Any thread. How often stages of a kind were computed, and how often a view had the result of
// another instead.
struct graph_count graph_count(const struct graph *graph, enum stage_kind kind);

// The arguments of branch_init(); the things they point to outlive the branch.
struct branch_setup {
    const struct plan *plan;           // at least one step
    const struct frame_layout *camera; // of the picture it begins with; copied
    struct pool *pool;                 // for the CPU; NULL: the caller's thread alone
    struct gpu *gpu;                   // computes; NULL: the CPU does
    bool mapped;                       // as of struct runner_setup
};

struct branch {
    struct graph *graph; // not owned; NULL: the branch is not there
    struct branch_setup setup;
    struct frame_layout camera;
    bool active;
    bool remembers;         // knows of the frame before, and therefore keeps the parts it has
    struct graph_part *end; // owned reference; writes the picture
    // While the graph is arranged: how many steps may be shared; and that it is to go on from what
    // `before` makes, behind `start` steps.
    unsigned common, start;
    struct graph_part *before; // owned reference; NULL: from the camera's picture
    unsigned stream;           // of the GPU, in which the pictures do not wait for those of others
};

// A branch that is not active, and stays where it is until branch_finish(). Errors of
// runner_init(); -ENOMEM. After an error there is nothing to finish.
int branch_init(struct branch *branch, struct graph *graph, const struct branch_setup *setup,
                struct error *error);
void branch_finish(struct branch *branch); // takes zeroed ones

// From the next graph_begin() on. A branch that becomes active has forgotten. Branches that are not
// active share nothing, and none of their pictures is made.
void branch_set_active(struct branch *branch, bool active);
// The next picture has none before it: nothing moves in it.
void branch_forget(struct branch *branch);

// Makes the picture of this frame on the CPU, and before it the planes that are not made yet, into
// `picture`, whose frame is laid out as the view's picture.
void branch_compute(struct branch *branch, const struct frame *camera, struct frame *picture);
// Queues on the GPU the planes that are not made yet, which other branches may read as well, in
// stream 0; then the picture behind them, in `stream`, which is in use afterwards.
// `pictures.input` is not looked at. Errors of runner_launch().
int branch_launch(struct branch *branch, unsigned stream, const struct gpu_pictures *pictures,
                  struct error *error);
