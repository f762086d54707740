// A kernel that can be launched over a picture, in blocks that may change from launch to launch,
// and with them the rows that a thread makes where the kernel takes any number.
//
// The GPU has the blocks of all its kernels, by their groups in the configuration. A block that is
// new is tried by the next launch; if that is refused, the launch is repeated with the block used
// before, which stays, and the GPU keeps a message about it to report.
// Used by one thread at a time, in which the GPU's context is current.
#pragma once

#include "kernels/gpu/gpu.h"
#include "kernels/gpu/gpu_block.h"
#include "kernels/gpu/job.h"

struct gpu_kernel {
    struct gpu *gpu; // not owned
    struct CUfunc_st *function;
    enum config_kernel group;  // in the configuration
    const char *key;           // the group's: "gradient"; static
    struct gpu_tile tile;      // with the default rows
    bool tried;                // in a block of its own, by gpu_kernel_try()
    bool rows_vary;            // any number of rows will do; set before gpu_kernel_join()
    struct config_block own;   // the default block
    struct config_block block; // of the next launch, nothing left open
    struct config_block good;  // of the last launch that was taken, at first the default block
    struct gpu_kernel *next;   // of the GPU's
};

// Finds `function` and gives it gpu_block_default() for this GPU and pictures of `width` pixels.
// -ENOENT.
int gpu_kernel_init(struct gpu_kernel *kernel, struct gpu *gpu, enum config_kernel group,
                    const char *function, struct gpu_tile tile, uint32_t width,
                    struct error *error);

// From now on the kernel has its block from gpu_set_blocks(), beginning with the one in force.
void gpu_kernel_join(struct gpu_kernel *kernel);
// No longer. Fine where it did not join.
void gpu_kernel_leave(struct gpu_kernel *kernel);

// Has the kernel tried in a block of its own, whatever gpu_set_blocks() says: `block`, unless that
// is not legal here. Neither that nor a launch that refuses it is told to anybody.
// gpu_kernel_join() ends it.
void gpu_kernel_try(struct gpu_kernel *kernel, struct config_block block);

// Queues the kernel over the picture of `job` in the GPU's stream and returns. The job, whose rows
// are filled in, is the first member of the struct that the kernel takes. CUDA's error where no
// other block can help.
int gpu_kernel_launch(struct gpu_kernel *kernel, struct gpu_job *job, struct error *error);

// The grid of the next launch, and the job's rows. False: its block was not taken by a launch yet.
bool gpu_kernel_arrange(const struct gpu_kernel *kernel, struct gpu_job *job,
                        struct gpu_grid *ret_grid);

// Queues a function in the GPU's stream whose grid and block are its own: nobody configures them.
// Returns CUDA's error.
int gpu_launch(struct gpu *gpu, struct CUfunc_st *function, struct gpu_grid grid,
               unsigned threads_x, unsigned threads_y, void *parameters, struct error *error);

// Threads a block and rows a thread of all groups (CONFIG_KERNEL_COUNT), from the next launch on;
// {0, 0} and 0 rows: the default block and rows. Rows are left alone where they do not vary.
// A kernel whose block is not legal here keeps what it has. Complaints not taken yet are dropped.
void gpu_set_blocks(struct gpu *gpu, const struct config_block *blocks);

// Keeps a text for gpu_take_complaint(), unless it is the same as one since the blocks were set.
void gpu_complain(struct gpu *gpu, const struct error *text);
// True once for each complaint: a block that is not legal here or that a launch refused (key,
// value, reason and what is used instead), one that keeps more than half of the GPU idle (what
// share can be busy, and a better block), or what gpu_chain.h says.
bool gpu_take_complaint(struct gpu *gpu, struct error *ret_text);
