// `edgectl tune`: its parts and what they hand on. tune.c reads the command line and opens the GPU,
// sweep.c measures, tune_report.c prints, tune_choice.c chooses what is worth writing and
// kernels_conf.c writes it.
#pragma once

#include "daemon/ctl/bench/bench_target.h"
#include "daemon/ctl/bench/kernels_conf.h"
#include "daemon/ctl/bench/timing.h"
#include "daemon/ctl/gpu_session.h"

#define SHAPES_MAX 64

struct sweep_shape {
    struct config_block block;  // with its rows a thread
    struct timing time;         // of the view's kernels on one picture
    unsigned occupancy_percent; // of a multiprocessor's threads that can be busy; 0: not known
};

// One of a view's kernels in many block shapes, and the best of them with other rows a thread, in
// one kind of memory. The view's other kernels run as configured, and the times are those of all
// kernels.
struct sweep {
    const struct config_view *view; // not owned
    enum config_kernel kernel;
    bool further; // another kernel of the view comes before: whole frames count once
    enum config_memory memory;
    size_t bytes;       // read and written for a picture
    struct timing copy; // of a copy that reads and writes as many bytes in this memory
    struct sweep_shape shapes[2 * SHAPES_MAX]; // those that were measured, fastest first
    size_t count;
    struct config_block in_use; // what the configuration leaves open is the GPU's own choice
    bool within_noise;  // shapes[0] is not faster than the one in use by more than they spread
    struct timing path; // view_run() of one picture, from the CPU to the CPU, in the best shapes
};

struct tune {
    struct bench_target_request request;
    enum config_memory wanted[3]; // kinds of memory to try beside the one in use
    size_t wanted_count;
    bool quick, write, json;

    struct bench_target target;
    struct gpu_session session;
    struct gpu_memory *others[3];         // owned: kinds beside the session's
    const struct gpu_memory *memories[4]; // the session's first
    size_t memory_count;
    struct sweep *sweeps; // owned; by view, then by kind of memory, then by kernel
    size_t sweep_count;
    bool interrupted; // the sweeps have the runs until then
};

// Measures each kernel of the view in every kind of memory, then whole frames in the best shapes,
// with a bar on a terminal, and appends the sweeps, for which there is room. After an interrupt
// these are the results so far, maybe none. -EAGAIN: the view computes nothing, or not on a GPU;
// -ENOTSUP, -ENOMEM; what CUDA says: the GPU is lost.
int sweep_view(struct tune *tune, const struct config_view *view, struct error *error);
// The shape in `sweep` that is `block` with its rows, NULL if there is none.
const struct sweep_shape *sweep_find(const struct sweep *sweep, struct config_block block);
// The same block, and the same rows.
bool shape_equal(struct config_block a, struct config_block b);

void tune_report_print(const struct tune *tune);
// The keys are in edgectl(1). Prints one JSON object.
void tune_report_print_json(const struct tune *tune);

// Changes in `content` what is better by more than the noise. For each kernel that is the block and
// the rows a thread with the smallest sum over the views that it computes, in the kind of memory
// that will be in use; only one of the two is changed if the other gains no more than the noise.
// The kind of memory is changed only if whole frames are also at least 5 % faster in it. True if
// anything changed.
bool tune_choose(const struct sweep *sweeps, size_t count, enum config_memory in_use,
                 struct kernels_conf *content);
