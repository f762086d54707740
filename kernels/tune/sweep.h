// Which block of one of a view's kernels is fastest, and how many rows a thread: times many shapes,
// then the best of them with other rows, one turn at a time. So `edgectl tune` shows a bar, and a
// camera process tunes between two frames.
//
// The kernels that the rig times are tried by themselves: those of live views keep their blocks.
#pragma once

#include "kernels/tune/rig.h"
#include "kernels/tune/timing.h"

#define SWEEP_SHAPES_MAX 64
#define SWEEP_CHOICE_MAX 64

struct sweep_shape {
    struct config_block block;  // with its rows a thread
    struct timing time;         // of the view's kernels on one picture
    unsigned occupancy_percent; // of a multiprocessor's threads that can be busy; 0: not known
};

// One of a view's kernels in many block shapes, and the best of them with other rows a thread, in
// one kind of memory. The view's other kernels run as configured, and the times are those of all
// kernels.
struct sweep {
    // Filled in by who makes it.
    const struct config_view *view; // not owned
    enum config_kernel kernel;
    bool further; // another kernel of the view comes before: whole frames count once
    enum config_memory memory;
    struct timing path; // view_run() of one picture, from the CPU to the CPU, in the best shapes

    size_t bytes;       // read and written for a picture
    struct timing copy; // of a copy that reads and writes as many bytes in this memory
    struct sweep_shape shapes[2 * SWEEP_SHAPES_MAX]; // those that were measured, fastest first
    size_t count;
    struct config_block in_use; // what the configuration leaves open is the GPU's own choice
    bool within_noise; // shapes[0] is not faster than the one in use by more than they spread
};

struct sweep_run;

// Begins to time the sweep's kernel of a rig_init_kernels(), whose pictures are all there. `quick`:
// a dozen shapes, a quarter of the runs. -ENOMEM. End it with sweep_end().
int sweep_begin(struct rig *rig, bool quick, struct sweep *sweep, struct sweep_run **ret_run);
// How many turns this phase has, and how many of them were taken.
size_t sweep_turns(const struct sweep_run *run);
size_t sweep_turns_taken(const struct sweep_run *run);
// Takes the next turn: times one shape, or the copy, on one picture. 1: there are more turns, 0:
// that was the last of this phase. Errors of rig_time(), after which the GPU is lost. `run` is a
// struct sweep_run.
int sweep_turn(void *run, struct error *error);
// Which block of this phase has the smallest median so far, and what that is; false: none has been
// timed.
bool sweep_best(const struct sweep_run *run, struct config_block *ret_block, double *ret_us);
// The block that the last turn timed, and what it took; false: it timed none.
bool sweep_last(const struct sweep_run *run, struct config_block *ret_block, double *ret_us);
// How much of the kernel's turns are taken, 0 to 1.
double sweep_share(const struct sweep_run *run);
// Begins the second phase, other rows a thread; false: there is none to begin.
bool sweep_go_on(struct sweep_run *run);
// Fills in the results of the turns so far, unless one failed, and frees the run.
void sweep_end(struct sweep_run *run);

// The shape in `sweep` that is `block` with its rows, NULL if there is none.
const struct sweep_shape *sweep_find(const struct sweep *sweep, struct config_block block);
// The same block, and the same rows.
bool sweep_shape_equal(struct config_block a, struct config_block b);

// A kernel's sweeps in one kind of memory, one for each view that it computes.
struct sweep_choice {
    const struct sweep *sweeps[SWEEP_CHOICE_MAX]; // not owned
    size_t count;
};

// Changes in `block` what is better by more than the noise: the block and the rows a thread with
// the smallest sum over all sweeps; only one of the two if the other gains no more than the noise.
// True if anything changed.
bool sweep_choose(const struct sweep_choice *choice, struct config_block *block);
