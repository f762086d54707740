// The graph of a camera: what all its views need, each of it made once a frame.
//
// A view is a path of nodes from the camera's picture to its own. Paths that begin alike have these
// nodes in common. Where active paths part, what they have in common so far goes into a plane that
// each goes on from, if that is less work. So nothing but time depends on who else is watched:
// every picture is the same, bit for bit, and where a plane cannot be had paths stay as they were.
// Used by one thread, but for graph_count().
#pragma once

#include "kernels/graph/run.h"

struct graph;
struct path;

struct graph_count {
    uint64_t runs, shared;
};

// -ENOMEM.
int graph_new(struct graph **ret_graph);
// Takes NULL. All paths are freed.
void graph_free(struct graph *graph);

// The next frame begins: before any of its pictures is made.
void graph_begin(struct graph *graph);
// The number of the frame that began last, from 1.
uint64_t graph_frame(const struct graph *graph);
// As node_get(): a node of the graph that is in no path.
int graph_get_node(struct graph *graph, const struct node_setup *setup, struct error *error,
                   struct node **ret_node);
// To be counted up by who computes such a node, or finds it computed.
struct run_counts *graph_counts(struct graph *graph);
// Any thread. How often stages of a kind were computed, and how often a view had the result of
// another's instead.
struct graph_count graph_count(const struct graph *graph, enum stage_kind kind);

// What a path is made for; copied, all but what `pool` and `gpu` point at.
struct path_setup {
    const struct plan *plan;           // at least one step
    const struct frame_layout *camera; // of the picture it begins with
    struct pool *pool;                 // for the CPU; NULL: the caller's thread alone
    struct gpu *gpu;                   // computes; NULL: the CPU does
    bool mapped;                       // as of gpu_runner_init()
};

// A path that is not active. Errors of stage_init(), gpu_runner_init(); -ENOMEM.
int path_new(struct graph *graph, const struct path_setup *setup, struct error *error,
             struct path **ret_path);
void path_free(struct path *path); // takes NULL

// From the next graph_begin() on. What becomes active has forgotten. Paths that are not active
// share nothing, and none of their pictures is made.
void path_set_active(struct path *path, bool active);
// The next picture has none before it: nothing moves in it.
void path_forget(struct path *path);

// Makes the path's picture of this frame on the CPU, as run.h says.
void path_compute(struct path *path, const struct frame *camera, struct frame *picture);
// Queues on the GPU what other paths may read as well, in stream 0; then the path's picture, in any
// stream behind it. As run.h says.
int path_launch_shared(struct path *path, const struct gpu_pictures *pictures, struct error *error);
int path_launch(struct path *path, const struct gpu_pictures *pictures, struct error *error);
// The stream in which the path's pictures do not wait for those of other views.
unsigned path_stream(const struct path *path);
