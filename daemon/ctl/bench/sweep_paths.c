// Whole frames in each kind of memory.
#include "daemon/common/mask_file.h"
#include "daemon/ctl/bench/gpu_rig.h"
#include "daemon/ctl/bench/interleave.h"
#include "daemon/ctl/bench/sweep.h"

#include <errno.h>
#include <string.h>

#define MEMORIES_MAX 4

// One kind of memory, for which whole frames are timed.
struct path {
    struct view *view;       // owned
    struct frame_pool *pool; // owned reference
    struct frame *input;     // owned reference
};

static int run_path(void *context, struct error *error, double *ret_us)
{
    const struct path *path = context;
    _cleanup_(cleanup_frame) struct frame *output = NULL;
    int64_t start = clock_now_ns();
    int r = view_run(path->view, path->input, error, &output);

    *ret_us = (double)(clock_now_ns() - start) / NS_PER_US;
    return r;
}

static int path_init(struct path *path, const struct config_block *blocks,
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
    int r;

    r = frame_pool_new(request->input, 1, setup.allocator, &path->pool);
    if (r < 0) {
        return error_set(error, r, "no memory for a picture");
    }
    path->input = frame_pool_take(path->pool);
    draw_scene(path->input->data, request->input->size, request->input->planes[0].stride);
    return view_new(&setup, error, &path->view);
}

static void path_finish(struct path *path)
{
    view_free(path->view);
    frame_unref(path->input);
    frame_pool_unref(path->pool);
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
    struct path paths[MEMORIES_MAX] = {0};
    _cleanup_(cleanup_free) struct timed *timed = calloc(MEMORIES_MAX, sizeof *timed);
    struct progress progress;
    int r = timed ? 0 : error_set(error, -ENOMEM, "out of memory");

    for (size_t i = 0; i < memory_count && r == 0; i++) {
        struct config_block blocks[CONFIG_KERNEL_COUNT];

        timed[i] = (struct timed){.run = run_path, .context = &paths[i]};
        best_blocks(sweeps, count, memories[i], blocks);
        r = path_init(&paths[i], blocks, memories[i], request, error);
    }
    if (r == 0) {
        unsigned runs = 3 * sweep_runs(request);

        progress_start(&progress, "whole frames", (runs + 1) * memory_count);
        r = interleave_run(timed, memory_count, runs, &progress, error);
        progress_end(&progress);
        if (r < 0) {
            gpu_lose(request->gpu);
        }
    }
    for (size_t i = 0; i < memory_count; i++) {
        if (r == 0) {
            set_path(sweeps, count, memories[i], samples_summarize(&timed[i].samples));
        }
        path_finish(&paths[i]);
    }
    return r;
}
