// Whole frames in each kind of memory.
#include "daemon/common/mask_file.h"
#include "daemon/ctl/bench/interleave.h"
#include "daemon/ctl/bench/sweep.h"
#include "daemon/ctl/bench/view_rig.h"

#include <errno.h>
#include <string.h>

#define MEMORIES_MAX 4

static int path_init(struct view_rig *path, const struct config_block *blocks,
                     const struct gpu_memory *memory, const struct sweep_request *request,
                     struct error *error)
{
    const struct view_setup setup = {.settings = request->view,
                                     .input = request->input,
                                     .frames = 2,
                                     .allocator = gpu_memory_allocator(memory),
                                     .gpu = request->gpu,
                                     .blocks = blocks,
                                     .read_mask = mask_file_read};

    return view_rig_init(path, &setup, error);
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
    struct view_rig paths[MEMORIES_MAX] = {0};
    _cleanup_(cleanup_free) struct timed *timed = calloc(MEMORIES_MAX, sizeof *timed);
    int r = timed ? 0 : error_set(error, -ENOMEM, "out of memory");

    for (size_t i = 0; i < memory_count && r == 0; i++) {
        struct config_block blocks[CONFIG_KERNEL_COUNT];

        timed[i] = (struct timed){.run = view_rig_time, .context = &paths[i]};
        best_blocks(sweeps, count, memories[i], blocks);
        r = path_init(&paths[i], blocks, memories[i], request, error);
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
        view_rig_finish(&paths[i]);
    }
    return r;
}
