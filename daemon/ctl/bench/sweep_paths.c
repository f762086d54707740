// Whole frames in each kind of memory.
#include "daemon/common/mask_file.h"
#include "daemon/ctl/bench/interleave.h"
#include "daemon/ctl/bench/sweep.h"
#include "daemon/ctl/bench/view_rig.h"
#include "kernels/gpu/gpu_kernel.h"

#include <errno.h>
#include <string.h>

#define MEMORIES_MAX 4

// Whole frames in one kind of memory, in its best blocks.
struct path_bench {
    struct view_rig rig;
    struct gpu *gpu; // not owned
    struct config_block blocks[CONFIG_KERNEL_COUNT];
};

static int path_init(struct path_bench *path, const struct gpu_memory *memory,
                     const struct sweep_request *request, struct error *error)
{
    const struct view_setup setup = {.settings = request->view,
                                     .input = request->input,
                                     .frames = 2,
                                     .allocator = gpu_memory_allocator(memory),
                                     .gpu = request->gpu,
                                     .read_mask = mask_file_read};

    path->gpu = request->gpu;
    return view_rig_init(&path->rig, &setup, error);
}

static int time_path(void *context, struct error *error, double *ret_us)
{
    struct path_bench *path = context;

    gpu_set_blocks(path->gpu, path->blocks);
    return view_rig_time(&path->rig, error, ret_us);
}

// The best blocks of those sweeps that are in this memory.
static void best_blocks(const struct sweep *sweeps, size_t count, const struct gpu_memory *memory,
                        struct config_block ret_blocks[CONFIG_KERNEL_COUNT])
{
    memset(ret_blocks, 0, CONFIG_KERNEL_COUNT * sizeof *ret_blocks);
    for (size_t i = 0; i < count; i++) {
        if (sweeps[i].memory == gpu_memory_kind(memory)) {
            ret_blocks[sweeps[i].kernel] = sweeps[i].shapes[0].block;
        }
    }
}

static void set_path(struct sweep *sweeps, size_t count, const struct gpu_memory *memory,
                     struct summary path)
{
    for (size_t i = 0; i < count; i++) {
        if (sweeps[i].memory == gpu_memory_kind(memory)) {
            sweeps[i].path = path;
        }
    }
}

int sweep_time_paths(struct sweep *sweeps, size_t count, const struct gpu_memory *const *memories,
                     size_t memory_count, const struct sweep_request *request, struct error *error)
{
    struct path_bench paths[MEMORIES_MAX] = {0};
    _cleanup_(cleanup_free) struct timed *timed = calloc(MEMORIES_MAX, sizeof *timed);
    int r = timed ? 0 : error_set(error, -ENOMEM, "out of memory");

    for (size_t i = 0; i < memory_count && r == 0; i++) {
        timed[i] = (struct timed){.run = time_path, .context = &paths[i]};
        best_blocks(sweeps, count, memories[i], paths[i].blocks);
        r = path_init(&paths[i], memories[i], request, error);
    }
    if (r == 0) {
        r = interleave_run(timed, memory_count, 3 * sweep_runs(request), "whole frames", error);
        if (r < 0) {
            gpu_lose(request->gpu);
        }
    }
    for (size_t i = 0; i < memory_count; i++) {
        if (r == 0) {
            set_path(sweeps, count, memories[i], samples_summarize(&timed[i].samples));
        }
        view_rig_finish(&paths[i].rig);
    }
    return r;
}
