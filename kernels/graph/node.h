// A node of a camera's graph: a step with its options, and the node that makes what it reads.
//
// Views share a node if its step and its input are equal. Only the node that writes a view's
// picture belongs to that view. On the CPU a node has its stage, and with it what that knows of the
// frame before; on a GPU the runs have the stages (gpu_runner.h), because a kernel does the steps
// of several nodes. Used by one thread at a time.
#pragma once

#include "capture/frame.h"
#include "kernels/mask/mask_plane.h"
#include "kernels/stage/stage.h"

struct gpu;

// What a node is made for; copied, all but what the pointers to the pool and the GPU point at.
struct node_setup {
    struct plan_step step;
    struct node *input;                // NULL: it reads plane 0 of the camera's picture
    const struct frame_layout *camera; // of that picture
    const struct pixel_format *output; // of the view's picture
    struct pool *pool;                 // for the CPU; NULL: the caller's thread alone
    struct gpu *gpu;                   // computes; NULL: the CPU does
    bool last;                         // it writes the view's picture
};

struct node {
    unsigned references;
    struct node **list; // that it is in
    struct node *next;
    struct plan_step step; // with a reference to its mask
    struct node *input;    // owned reference
    struct frame_layout camera;
    struct gpu *gpu; // not owned
    bool last;
    unsigned active;    // how many of those who hold references are
    uint64_t number;    // of the frame that it was computed for last, as run.h counts them
    struct stage stage; // none on a GPU
};

// A reference to the node of that setup, which is put into the list where there is none like it.
// Masks are equal where their pixels are. What stage_init() says, -ENOMEM.
int node_get(struct node **list, const struct node_setup *setup, struct error *error,
             struct node **ret_node);
struct node *node_ref(struct node *node);
void node_unref(struct node *node); // takes NULL

// One more, or one less, of those who hold references is active. What nobody had active has
// forgotten the frame before: it may be hours old.
void node_set_active(struct node *node, bool active);
// The next frame has none before it.
void node_forget(struct node *node);
