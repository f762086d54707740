// Measures one of a view's kernels in many block shapes, and the best of them with other rows a
// thread, in one kind of memory. The view's other kernels run as configured, and the times are
// those of all kernels.
#pragma once

#include "daemon/ctl/bench/samples.h"
#include "daemon/ctl/bench/shapes.h"
#include "daemon/ctl/gpu_session.h"

struct sweep_shape {
    struct config_block block;  // with its rows a thread
    struct summary time;        // microseconds of the view's kernels on one picture
    unsigned occupancy_percent; // of a multiprocessor's threads that can be busy; 0: not known
};

struct sweep {
    const struct config_view *view; // not owned
    enum config_kernel kernel;
    bool further; // another kernel of the view comes before: whole frames count once
    enum config_memory memory;
    size_t bytes;        // read and written for a picture
    struct summary copy; // of a copy that reads and writes as many bytes in this memory
    struct sweep_shape shapes[2 * SHAPES_MAX]; // those that were measured, fastest first
    size_t count;
    struct config_block in_use; // what the configuration leaves open is the GPU's own choice
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

// How often each shape is measured, after one round to warm up.
unsigned sweep_runs(const struct sweep_request *request);
// Measures each kernel of the view in its turn, with a bar on a terminal: a sweep each in
// `ret_sweeps` (room for CONFIG_KERNEL_COUNT), how many in *ret_count. After an interrupt
// (interrupt_seen()) these are the results so far, maybe none. -EAGAIN: the view computes nothing,
// or not on a GPU; -ENOTSUP, -ENOMEM; what CUDA says: the GPU is lost.
int sweep_run(const struct sweep_request *request, struct error *error, struct sweep *ret_sweeps,
              size_t *ret_count);
// The shape in `sweep` that is `block` with its rows, NULL if there is none.
const struct sweep_shape *sweep_find(const struct sweep *sweep, struct config_block block);

// Puts a whole frame's time, CPU to CPU, with the best shapes of all kernels, into `path` of
// `count` sweeps of one view, those in `memory_count` kinds of memory taken in turns.
int sweep_time_paths(struct sweep *sweeps, size_t count, const struct gpu_memory *const *memories,
                     size_t memory_count, const struct sweep_request *request, struct error *error);
