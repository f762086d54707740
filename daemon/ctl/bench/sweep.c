#include "daemon/ctl/bench/sweep.h"

#include "daemon/ctl/bench/gpu_rig.h"
#include "daemon/ctl/bench/interleave.h"
#include "daemon/ctl/progress.h"

#include <errno.h>
#include <string.h>

#define RUNS 41
#define RUNS_QUICK 11
// Shapes that are tried with other rows a thread, beside the one in use.
#define BEST 4
#define BEST_QUICK 2

_Static_assert((BEST + 1) * SHAPES_ROWS_MAX <= SHAPES_MAX, "measure() has room for SHAPES_MAX");

// A shape that is timed. The last of them stands for the copy.
struct candidate {
    struct gpu_rig *rig;
    const struct config_block *blocks; // of the other kernels
    enum config_kernel kernel;
    struct config_block block;
};

// The first of the kernels that are tuned together.
static struct gpu_kernel *kernel_of(struct gpu_rig *rig, enum config_kernel kernel)
{
    return gpu_runner_kernel(&rig->runner, kernel);
}

unsigned sweep_runs(const struct sweep_request *request)
{
    return request->quick ? RUNS_QUICK : RUNS;
}

static int run_shape(void *context, struct error *error, double *ret_us)
{
    const struct candidate *candidate = context;
    struct gpu_rig *rig = candidate->rig;
    struct config_block blocks[CONFIG_KERNEL_COUNT];
    int r;

    memcpy(blocks, candidate->blocks, sizeof blocks);
    blocks[candidate->kernel] = candidate->block;
    gpu_set_blocks(rig->gpu, blocks);
    r = gpu_rig_time_kernel(rig, error, ret_us);
    // It has another block where this one is not legal or the launch was refused.
    return r == 0 && !shape_equal(kernel_of(rig, candidate->kernel)->block, candidate->block)
               ? -EAGAIN
               : r;
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

// Adds a result. It replaces an earlier one of the same shape, because the better shapes were timed
// in the same rounds as the new one.
static void add(struct sweep *sweep, const struct sweep_shape *shape)
{
    size_t i = 0;

    while (i < sweep->count && !shape_equal(sweep->shapes[i].block, shape->block)) {
        i++;
    }
    sweep->shapes[i] = *shape;
    sweep->count += i == sweep->count;
}

static void collect(struct sweep *sweep, struct gpu_rig *rig, struct timed *timed,
                    const struct candidate *candidates, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!timed[i].left_out && timed[i].samples.count > 0) {
            struct sweep_shape shape = {
                .block = candidates[i].block,
                .time = samples_summarize(&timed[i].samples),
                .occupancy_percent = occupancy(kernel_of(rig, sweep->kernel), candidates[i].block),
            };

            add(sweep, &shape);
        }
    }
    if (timed[count].samples.count > 0) {
        sweep->copy = samples_summarize(&timed[count].samples);
    }
    qsort(sweep->shapes, sweep->count, sizeof sweep->shapes[0], compare_shapes);
}

// Times `count` shapes, up to SHAPES_MAX, in rounds with a copy.
static int measure(const struct sweep_request *request, struct gpu_rig *rig, const char *what,
                   const struct config_block *shapes, size_t count, struct sweep *sweep,
                   struct error *error)
{
    struct candidate candidates[SHAPES_MAX + 1];
    _cleanup_(cleanup_free) struct timed *timed = calloc(count + 1, sizeof *timed);
    char title[128];
    int r;

    if (!timed) {
        return error_set(error, -ENOMEM, "out of memory");
    }
    for (size_t i = 0; i <= count; i++) {
        candidates[i] = (struct candidate){rig, request->blocks, sweep->kernel,
                                           i < count ? shapes[i] : sweep->in_use};
        timed[i].run = i < count ? run_shape : run_copy;
        timed[i].context = &candidates[i];
    }
    snprintf(title, sizeof title, "%s, %s memory, %s%s", request->view->name,
             config_memory_name(sweep->memory), config_kernel_name(sweep->kernel), what);
    r = interleave_run(timed, count + 1, sweep_runs(request), title, error);
    if (r == 0) {
        collect(sweep, rig, timed, candidates, count);
    }
    return r;
}

static int measure_shapes(const struct sweep_request *request, struct gpu_rig *rig,
                          struct sweep *sweep, struct error *error)
{
    const struct gpu_kernel *kernel = kernel_of(rig, sweep->kernel);
    struct config_block shapes[SHAPES_MAX];
    size_t count =
        shapes_list(threads_max(kernel), request->quick, sweep->in_use, kernel->block, shapes);

    return measure(request, rig, "", shapes, count, sweep, error);
}

// Measures the best shapes so far, and the one in use, with other rows a thread.
static int measure_rows(const struct sweep_request *request, struct gpu_rig *rig,
                        struct sweep *sweep, struct error *error)
{
    struct config_block best[BEST + 1], shapes[SHAPES_MAX];
    size_t most = request->quick ? BEST_QUICK : BEST, count = 0;

    while (count < sweep->count && count < most) {
        best[count] = sweep->shapes[count].block;
        count++;
    }
    best[count++] = sweep->in_use;
    count = shapes_list_rows(best, count, (int)kernel_of(rig, sweep->kernel)->tile.height, shapes);
    return measure(request, rig, ", rows a thread", shapes, count, sweep, error);
}

static int measure_all(const struct sweep_request *request, struct gpu_rig *rig,
                       struct sweep *sweep, struct error *error)
{
    const struct sweep_shape *in_use;
    int r = measure_shapes(request, rig, sweep, error);

    if (r == 0 && kernel_of(rig, sweep->kernel)->rows_vary && !interrupt_seen()) {
        r = measure_rows(request, rig, sweep, error);
    }
    in_use = sweep_find(sweep, sweep->in_use);
    sweep->within_noise = in_use && !summary_is_faster(&sweep->shapes[0].time, &in_use->time);
    return r;
}

static int sweep_kernels(const struct sweep_request *request, struct gpu_rig *rig,
                         struct error *error, struct sweep *sweeps, size_t *ret_count)
{
    enum config_kernel kernels[CONFIG_KERNEL_COUNT];
    size_t count = gpu_runner_groups(&rig->runner, kernels);
    int r = 0;

    for (size_t i = 0; i < count && r == 0 && !interrupt_seen(); i++) {
        gpu_set_blocks(rig->gpu, request->blocks);
        sweeps[i] = (struct sweep){
            .view = request->view,
            .kernel = kernels[i],
            .further = i > 0,
            .memory = gpu_memory_kind(request->memory),
            .bytes = rig->bytes,
            .in_use = kernel_of(rig, kernels[i])->block,
        };
        r = measure_all(request, rig, &sweeps[i], error);
        *ret_count += r == 0 && sweeps[i].count > 0;
    }
    return r;
}

int sweep_run(const struct sweep_request *request, struct error *error, struct sweep *ret_sweeps,
              size_t *ret_count)
{
    struct gpu_rig rig;
    int r = gpu_rig_init(&rig, request->gpu, request->memory, request->view, request->input, error);

    *ret_count = 0;
    if (r == 0) {
        r = sweep_kernels(request, &rig, error, ret_sweeps, ret_count);
        if (r < 0 && r != -ENOMEM) {
            gpu_lose(request->gpu);
        }
    }
    gpu_rig_finish(&rig);
    return r;
}
