// A runner: steps of a view's plan that are computed in one go, from the camera's picture or from a
// plane of gray to the view's picture or to another plane. The CPU or a GPU computes them.
//
// On the CPU row stages follow one another on rows in the cache. Where a stage has to scan its
// whole input first, the rows before it are made for that scan alone and those from it on
// afterwards, so a plane lies in between only where a stage keeps one itself. On a GPU each stage
// does one or more steps and is a launch or a few, with planes of device memory in between.
//
// Used by one thread at a time, in which the GPU's context is current.
#pragma once

#include "kernels/graph/plan.h"
#include "kernels/stage/gpu_stage.h"
#include "kernels/stage/stage.h"

// The arguments of a new runner. Masks and the pool outlive it, the rest is needed for the call
// alone.
struct runner_setup {
    const struct plan_step *steps;
    unsigned count;                    // 1..PLAN_STEPS_MAX
    const struct frame_layout *camera; // of the camera's picture
    const struct pixel_format *output; // of the view's picture
    bool first;                        // reads the camera's picture; else a plane of gray
    bool last;                         // writes the view's picture; else a plane of gray
    // Of the CPU.
    struct pool *pool; // NULL: the caller's thread alone
    // Of the GPU.
    struct gpu *gpu; // NULL: the CPU computes
    bool mapped;     // pictures lie in memory of the host, from which a row read twice comes twice
};

// Stages of the CPU that run row by row together, from plane to plane: the stage behind all but the
// last pass scans what that makes, and begins the next one.
struct runner_pass {
    unsigned first, end;
    struct rows *rows; // owned; NULL: that stage scans the input itself
    uint8_t *plane;    // owned; that the rows go to; NULL: to the runner's output
    uint32_t band;     // rows of it
};

struct runner {
    struct gpu *gpu;        // not owned; NULL: the CPU computes
    unsigned count;         // stages
    uint32_t width, height; // pixels
    // Of the CPU.
    struct stage stages[PLAN_STEPS_MAX];
    struct runner_pass passes[PLAN_STEPS_MAX + 1];
    unsigned pass_count;
    struct pool *pool; // not owned; NULL: there is none
    uint8_t *plane;    // owned; what it writes; NULL: the view's picture
    size_t stride;     // of planes, bytes
    // Of the GPU.
    struct gpu_stage gpu_stages[PLAN_STEPS_MAX];
    struct gpu_plane planes[PLAN_STEPS_MAX]; // [i] is what stage i makes; none for the picture
    struct gpu_chain *chain;                 // owned
};

// -ENOTSUP (a format, no kernel for a step, no such conversion), -ENOENT (no such kernel), -ENOMEM,
// -EIO. End it with runner_finish() in any case.
int runner_init(struct runner *runner, const struct runner_setup *setup, struct error *error);
// Takes zeroed and half-built ones. Nothing it launched runs any more, or the GPU is lost.
void runner_finish(struct runner *runner);
// The next picture has none before it: nothing moves in it.
void runner_forget(struct runner *runner);

// One picture on the CPU. The first stage reads the plane that `before` has made, or plane 0 of the
// camera's picture where `before` is NULL. `picture` is the view's, laid out as that; NULL where
// the runner writes its plane.
void runner_compute(struct runner *runner, const struct runner *before, const struct frame *camera,
                    struct frame *picture);
// How many stages do the steps on a GPU, each of which reads and writes a picture; 0: some step has
// no kernel. The setup's GPU is not looked at.
unsigned runner_count_stages(const struct runner_setup *setup);
// Whether there are kernels for a whole plan for pictures of the layout `camera`; the CPU computes
// other views, with a GPU as well.
bool runner_supports(const struct plan *plan, const struct frame_layout *camera);
// runner_init() for a whole plan on a GPU.
int runner_init_plan(struct runner *runner, struct gpu *gpu, const struct plan *plan,
                     const struct frame_layout *camera, bool mapped, struct error *error);
// Queues one picture in the GPU's stream and returns. Input and output do not overlap; the output
// is not looked at where the steps end in a plane. Fastest with addresses and strides that are
// multiples of 16. Luma alone is written of computed gray. Errors of gpu_chain_add() and
// gpu_chain_end().
int runner_launch(struct runner *runner, struct gpu_pictures pictures, struct error *error);
// The plane that the steps end in on a GPU.
struct gpu_picture runner_gpu_plane(const struct runner *runner);

// The groups of the kernels (room for CONFIG_KERNEL_COUNT), each once in the order of their
// launches, and how many there are.
size_t runner_groups(const struct runner *runner, enum config_kernel *ret_groups);
// The first kernel of that group, NULL where there is none.
struct gpu_kernel *runner_kernel(struct runner *runner, enum config_kernel group);
// Has all kernels of that group tried in `block`, as gpu_kernel_try(), until runner_leave_block(),
// from which on they have the block of their group again.
void runner_try_block(struct runner *runner, enum config_kernel group, struct config_block block);
void runner_leave_block(struct runner *runner, enum config_kernel group);
