// One GPU: the driver, its primary context, edged's kernels and a stream.
//
// A context is current in a thread: the one that made the GPU, and each that calls gpu_enter().
// Work is queued by one thread at a time; memory comes and goes in any. A camera process has one
// GPU. A context that CUDA reports as lost (a bad address, an endless kernel) stays lost until the
// process is replaced.
#pragma once

#include "config/config.h"
#include "kernels/gpu/cuda_driver.h"

#include <stdbool.h>

struct gpu;

struct gpu_info {
    char name[128];
    int sm; // compute capability, 87 for 8.7
    int multiprocessors;
    int l2_bytes;
    int driver_version;             // 13000 for 13.0
    bool integrated;                // shares its memory with the CPU
    bool can_map_host;              // pinned memory has a device address
    bool can_register;              // so has memory of ours
    bool can_manage;                // managed memory exists
    bool concurrent_managed_access; // the CPU may touch it while kernels run
    int block_x_max, block_y_max;
    int multiprocessor_threads; // that run at once on one
};

// Opens the first GPU and loads the kernels. -ENODEV (no driver, no GPU), -ENOSYS (driver too old),
// -ENOTSUP (built without nvcc, or no kernels for this GPU), -ENOMEM, -EIO; the reason in `error`.
int gpu_new(struct error *error, struct gpu **ret_gpu);
// Takes NULL. Any thread, which has no context afterwards.
void gpu_free(struct gpu *gpu);

// Makes the GPU's context current in the calling thread. Cheap, and fine to repeat.
int gpu_enter(const struct gpu *gpu, struct error *error);

// Any thread. The GPU is lost to this process: from now on neither gpu_free() nor the release of
// its memory calls the driver, which might wait forever for a kernel that does not end.
void gpu_lose(struct gpu *gpu);
bool gpu_is_lost(const struct gpu *gpu);

const struct gpu_info *gpu_info(const struct gpu *gpu);
const struct cuda_driver *gpu_driver(const struct gpu *gpu);

// Work in one stream is done in its order, that of different streams overlaps.
#define GPU_STREAMS_MAX 4
// From now on work is queued in stream `number` (below GPU_STREAMS_MAX, at first 0), behind what
// has been queued in number 0. Returns CUDA's error.
int gpu_use_stream(struct gpu *gpu, unsigned number, struct error *error);
// The stream that is used now.
struct CUstream_st *gpu_stream(const struct gpu *gpu);
// For gpu_fence_init().
struct gpu_waiter *gpu_waiter(const struct gpu *gpu);

// State of all kernels of a GPU; only gpu_kernel.h uses it.
#define GPU_COMPLAINTS_MAX (2 * CONFIG_KERNEL_COUNT)
struct gpu_blocks {
    struct config_block now[CONFIG_KERNEL_COUNT], before[CONFIG_KERNEL_COUNT];
    struct gpu_kernel *kernels; // the first; not owned
    struct error complaints[GPU_COMPLAINTS_MAX];
    unsigned complaint_count, complaints_taken;
};
struct gpu_blocks *gpu_blocks(struct gpu *gpu);

// Finds a kernel by name. Owned by the GPU. -ENOENT.
int gpu_kernel(const struct gpu *gpu, const char *name, struct error *error,
               struct CUfunc_st **ret_kernel);

// Whether `kernel` can be launched in such blocks: within the device's limits and the kernel's own
// (registers). -EINVAL with the limit in `error`.
int gpu_block_check(const struct gpu *gpu, struct CUfunc_st *kernel, struct config_block block,
                    struct error *error);

// Waits until all that is queued in all streams is done, at most until `deadline_ns`
// (CLOCK_MONOTONIC). -ETIMEDOUT, or the error that work in the stream ended with.
int gpu_wait(struct gpu *gpu, int64_t deadline_ns, struct error *error);

static inline void cleanup_gpu(struct gpu **gpu)
{
    gpu_free(*gpu);
}
