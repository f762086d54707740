#include "daemon/ctl/sweep.h"

#include "daemon/ctl/gpu_rig.h"
#include "daemon/ctl/turns.h"

#include <errno.h>
#include <string.h>

#define RUNS 41
#define RUNS_QUICK 11
#define MEMORIES_MAX 4

// A shape in the turns. The last of them is the copy.
struct candidate {
    struct gpu_rig *rig;
    struct config_block block;
};

static unsigned count_runs(const struct sweep_request *request)
{
    return request->quick ? RUNS_QUICK : RUNS;
}

static int run_shape(void *context, struct error *error, double *ret_us)
{
    const struct candidate *candidate = context;
    struct gpu_kernel *kernel = &candidate->rig->stage.kernel;
    struct error refusal;
    int r = gpu_kernel_set_block(kernel, candidate->block, error);

    if (r == -EINVAL) {
        return -EAGAIN;
    }
    if (r == 0) {
        r = gpu_rig_time_kernel(candidate->rig, error, ret_us);
    }
    return r == 0 && gpu_kernel_take_refusal(kernel, &refusal) ? -EAGAIN : r;
}

static int run_copy(void *context, struct error *error, double *ret_us)
{
    const struct candidate *candidate = context;

    return gpu_rig_time_copy(candidate->rig, error, ret_us);
}

static unsigned threads_max(const struct gpu_kernel *kernel)
{
    int threads = 0;

    return gpu_driver(kernel->gpu)
                       ->function_attribute(&threads, CUDA_FUNCTION_MAX_THREADS,
                                            kernel->function) == CUDA_SUCCESS
               ? (unsigned)threads
               : CONFIG_BLOCK_THREADS_MAX;
}

static unsigned occupancy(const struct gpu_kernel *kernel, struct config_block block)
{
    int threads = block.x * block.y, blocks = 0;
    int most = gpu_info(kernel->gpu)->multiprocessor_threads;
    int result = gpu_driver(kernel->gpu)->occupancy(&blocks, kernel->function, threads, 0);

    return result == CUDA_SUCCESS && most > 0 ? (unsigned)(100 * blocks * threads / most) : 0;
}

static enum config_kernel kernel_named(const char *key)
{
    enum config_kernel kernel = 0;

    while (kernel + 1 < CONFIG_KERNEL_COUNT && strcmp(config_kernel_name(kernel), key) != 0) {
        kernel++;
    }
    return kernel;
}

static int compare_shapes(const void *a, const void *b)
{
    const struct sweep_shape *x = a, *y = b;

    return (x->time.median > y->time.median) - (x->time.median < y->time.median);
}

const struct sweep_shape *sweep_find(const struct sweep *sweep, struct config_block block)
{
    for (size_t i = 0; i < sweep->count; i++) {
        if (shape_equal(sweep->shapes[i].block, block)) {
            return &sweep->shapes[i];
        }
    }
    return NULL;
}

static void collect(struct sweep *sweep, const struct gpu_rig *rig, struct timed *timed,
                    const struct candidate *candidates, size_t count)
{
    const struct sweep_shape *in_use;

    for (size_t i = 0; i < count; i++) {
        if (!timed[i].left_out && timed[i].samples.count > 0) {
            sweep->shapes[sweep->count++] = (struct sweep_shape){
                .block = candidates[i].block,
                .time = samples_summarize(&timed[i].samples),
                .occupancy_percent = occupancy(&rig->stage.kernel, candidates[i].block),
            };
        }
    }
    sweep->copy = samples_summarize(&timed[count].samples);
    qsort(sweep->shapes, sweep->count, sizeof sweep->shapes[0], compare_shapes);
    in_use = sweep_find(sweep, sweep->in_use);
    sweep->within_noise = in_use && !summary_is_faster(&sweep->shapes[0].time, &in_use->time);
}

static int measure(const struct sweep_request *request, struct gpu_rig *rig, struct sweep *sweep,
                   struct error *error)
{
    struct config_block shapes[SHAPES_MAX];
    struct config_block own = rig->stage.kernel.block;
    size_t count =
        shapes_list(threads_max(&rig->stage.kernel), request->quick, sweep->in_use, own, shapes);
    struct candidate candidates[SHAPES_MAX + 1];
    _cleanup_(cleanup_free) struct timed *timed = calloc(count + 1, sizeof *timed);
    unsigned runs = count_runs(request);
    struct progress progress;
    char what[96];
    int r;

    if (!timed) {
        return error_set(error, -ENOMEM, "out of memory");
    }
    for (size_t i = 0; i <= count; i++) {
        candidates[i] = (struct candidate){rig, i < count ? shapes[i] : own};
        timed[i].run = i < count ? run_shape : run_copy;
        timed[i].context = &candidates[i];
    }
    snprintf(what, sizeof what, "%s, %s memory", request->view->name,
             config_memory_name(sweep->memory));
    progress_start(&progress, what, (runs + 1) * (count + 1));
    r = turns_take(timed, count + 1, runs, &progress, error);
    progress_end(&progress);
    if (r == 0) {
        collect(sweep, rig, timed, candidates, count);
    }
    return r;
}

// The block that edged would use: of the configuration if this GPU takes it, else its own.
static struct config_block block_in_use(const struct gpu_rig *rig, struct config_block configured)
{
    struct gpu_kernel probe = rig->stage.kernel;

    return configured.x > 0 && gpu_kernel_set_block(&probe, configured, NULL) == 0
               ? configured
               : rig->stage.kernel.block;
}

int sweep_run(const struct sweep_request *request, struct error *error, struct sweep *ret_sweep)
{
    struct gpu_rig rig;
    int r = gpu_rig_init(&rig, request->gpu, request->memory, request->view, request->input, error);

    if (r == 0) {
        enum config_kernel kernel = kernel_named(rig.stage.kernel.key);

        *ret_sweep = (struct sweep){
            .view = request->view,
            .kernel = kernel,
            .memory = gpu_memory_kind(request->memory),
            .bytes = rig.bytes,
            .in_use = block_in_use(&rig, request->blocks[kernel]),
        };
        r = measure(request, &rig, ret_sweep, error);
        if (r < 0 && r != -ENOMEM) {
            gpu_lose(request->gpu);
        }
    }
    gpu_rig_finish(&rig);
    return r;
}

// One kind of memory in the turns of whole frames.
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

static int path_init(struct path *path, const struct sweep *sweep, const struct gpu_memory *memory,
                     const struct sweep_request *request, struct error *error)
{
    struct config_block blocks[CONFIG_KERNEL_COUNT] = {0};
    const struct view_setup setup = {.settings = request->view,
                                     .input = request->input,
                                     .frames = 2,
                                     .allocator = gpu_memory_allocator(memory),
                                     .gpu = request->gpu,
                                     .blocks = blocks};
    int r;

    blocks[sweep->kernel] = sweep->shapes[0].block;
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

int sweep_time_paths(struct sweep *sweeps, size_t count, const struct gpu_memory *const *memories,
                     const struct sweep_request *request, struct error *error)
{
    struct path paths[MEMORIES_MAX] = {0};
    _cleanup_(cleanup_free) struct timed *timed = calloc(MEMORIES_MAX, sizeof *timed);
    struct progress progress;
    int r = timed ? 0 : error_set(error, -ENOMEM, "out of memory");

    for (size_t i = 0; i < count && r == 0; i++) {
        timed[i] = (struct timed){.run = run_path, .context = &paths[i]};
        r = path_init(&paths[i], &sweeps[i], memories[i], request, error);
    }
    if (r == 0) {
        unsigned runs = 3 * count_runs(request);

        progress_start(&progress, "whole frames", (runs + 1) * count);
        r = turns_take(timed, count, runs, &progress, error);
        progress_end(&progress);
        if (r < 0) {
            gpu_lose(request->gpu);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (r == 0) {
            sweeps[i].path = samples_summarize(&timed[i].samples);
        }
        path_finish(&paths[i]);
    }
    return r;
}
