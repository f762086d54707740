// One view's kernel in many block shapes, in one kind of memory.
#pragma once

#include "daemon/ctl/gpu_session.h"
#include "daemon/ctl/samples.h"
#include "daemon/ctl/shapes.h"

struct sweep_shape {
    struct config_block block;
    struct summary time;        // microseconds of the kernel on one picture
    unsigned occupancy_percent; // of a multiprocessor's threads that can be busy; 0: not known
};

struct sweep {
    const struct config_view *view; // not owned
    enum config_kernel kernel;
    enum config_memory memory;
    size_t bytes;        // read and written for a picture
    struct summary copy; // of a copy that reads and writes as many bytes in this memory
    struct sweep_shape shapes[SHAPES_MAX]; // those that were measured, fastest first
    size_t count;
    struct config_block in_use; // {0, 0} in the configuration is the GPU's own choice
    bool within_noise;   // shapes[0] is not faster than the one in use by more than they spread
    struct summary path; // view_run() of one picture, from the CPU to the CPU, in the best shape
};

struct sweep_request {
    struct gpu *gpu;
    const struct gpu_memory *memory;
    const struct config_view *view;
    const struct frame_layout *input;
    const struct config_block *blocks; // of the configuration
    bool quick;
};

// Measures; with a bar on a terminal. Interrupted (interrupt_seen()) it has what there is, maybe
// nothing. -EAGAIN: the view computes nothing; -ENOTSUP, -ENOMEM; what CUDA says: the GPU is lost.
int sweep_run(const struct sweep_request *request, struct error *error, struct sweep *ret_sweep);
// The shape in `sweep` that is `block`, NULL if there is none.
const struct sweep_shape *sweep_find(const struct sweep *sweep, struct config_block block);

// Puts a whole frame's time, CPU to CPU, into `path` of `count` sweeps of one view, taken in turns;
// `memories` are theirs.
int sweep_time_paths(struct sweep *sweeps, size_t count, const struct gpu_memory *const *memories,
                     const struct sweep_request *request, struct error *error);
