// A run: nodes of which each reads what the one before it makes, computed in one go from one plane
// to the next. Its last node writes a view's picture, or a plane that several runs go on from and
// that is made when the first of them in a frame asks for it.
//
// One interface for both backends: `cpu_runner.h` and `gpu_runner.h` do the work. Used by one
// thread at a time.
#pragma once

#include "kernels/graph/gpu_runner.h"
#include "kernels/graph/node.h"

struct cpu_runner;

struct run_setup {
    struct node *const *nodes;         // copied
    unsigned count;                    // 1..PLAN_STEPS_MAX
    struct run *before;                // makes what the first node reads; NULL: the camera does
    const struct pixel_format *output; // of the views
    struct pool *pool;                 // for the CPU; NULL: the caller's thread alone
    bool mapped;                       // as of gpu_runner_init_steps()
};

struct run {
    unsigned references;
    struct node *nodes[PLAN_STEPS_MAX]; // owned references
    unsigned count;
    struct run *before;     // owned reference
    uint64_t number;        // of the frame that its plane was made for last
    struct cpu_runner *cpu; // owned; NULL: the GPU computes
    uint8_t *plane;         // owned; of the CPU, unless it writes a picture
    size_t stride;
    struct gpu_runner gpu;
};

// Of the GPU also what gpu_runner_init_steps() says; -ENOMEM. The caller has the first reference.
int run_new(const struct run_setup *setup, struct error *error, struct run **ret_run);
struct run *run_ref(struct run *run);
// Takes NULL. With the last reference nothing it launched runs any more, or the GPU is lost.
void run_unref(struct run *run);

// By the kinds of nodes: how often one was made, and how often a run went on from a plane that
// another one had made in the same frame. Both only grow.
struct run_counts {
    _Atomic uint64_t runs[STAGE_KIND_COUNT], shared[STAGE_KIND_COUNT];
};

// One picture of frame number `number` (from 1), and before it the planes that are not made yet:
// what runs and how often is counted up. On the CPU into `picture`, whose frame is laid out as the
// view's picture.
void run_compute(struct run *run, const struct frame *camera, uint64_t number,
                 struct frame *picture, struct run_counts *counts);
// On the GPU: queues the planes that are not made yet, and then the picture; `pictures.input` is
// not looked at. What gpu_runner_launch_steps() says.
int run_launch_before(struct run *run, const struct gpu_pictures *pictures, uint64_t number,
                      struct run_counts *counts, struct error *error);
int run_launch(struct run *run, const struct gpu_pictures *pictures, uint64_t number,
               struct run_counts *counts, struct error *error);

// On the GPU: the next picture has none before it.
void run_forget(struct run *run);
