// `edgectl tune`: its parts and what they hand on. tune.c reads the command line, opens the GPU and
// keeps and prints what is faster, tune_sweep.c measures and chooses it.
#pragma once

#include "daemon/ctl/bench/bench_target.h"
#include "daemon/ctl/gpu_session.h"
#include "kernels/tune/sweep.h"

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

// Changes in `blocks` what is faster by more than the noise. For each kernel that is the block and
// the rows a thread with the smallest sum over the views that it computes, in the kind of memory in
// use; only one of the two is changed if the other gains no more than the noise. {0, 0} and 0 rows
// stand for what the configuration leaves open. True if anything changed.
bool tune_choose(const struct sweep *sweeps, size_t count, enum config_memory in_use,
                 struct config_block blocks[CONFIG_KERNEL_COUNT]);
// The kind of memory in which whole frames of all views are faster than in the one in use, by more
// than the noise and 5 %; without one, that in use.
enum config_memory tune_choose_memory(const struct sweep *sweeps, size_t count,
                                      enum config_memory in_use);
