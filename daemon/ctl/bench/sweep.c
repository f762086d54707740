#include "daemon/ctl/bench/rig.h"
#include "daemon/ctl/bench/tune.h"
#include "daemon/ctl/progress.h"
#include "kernels/gpu/gpu_kernel.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#define RUNS 41
#define RUNS_QUICK 11
// Shapes that are tried with other rows a thread, beside the one in use.
#define BEST 4
#define BEST_QUICK 2

// The shapes to be timed: each once, of at most `threads_max` threads.
struct shapes {
    struct config_block list[SHAPES_MAX];
    size_t count;
    int threads_max;
};

// Blocks of a kernel's view that are timed.
struct candidate {
    struct rig *rig;
    struct gpu *gpu;
    struct config_block blocks[CONFIG_KERNEL_COUNT];
    const struct gpu_kernel *kernel; // has to run in its block of these; NULL: whole frames
};

bool shape_equal(struct config_block a, struct config_block b)
{
    return a.x == b.x && a.y == b.y && a.rows == b.rows;
}

static void add_shape(struct shapes *shapes, int x, int y, int rows)
{
    struct config_block shape = {x, y, rows};

    if (x < 1 || y < 1 || x * y > shapes->threads_max || shapes->count == SHAPES_MAX) {
        return;
    }
    for (size_t i = 0; i < shapes->count; i++) {
        if (shape_equal(shapes->list[i], shape)) {
            return;
        }
    }
    shapes->list[shapes->count++] = shape;
}

// The shapes in use and of the kernel's own choice; with `quick` a dozen, else powers of two from
// 64 threads up, 4 and more of them side by side, flat blocks of other multiples of the 32 threads
// that run together, and a few tall ones. All have the rows in use.
static void list_shapes(struct shapes *shapes, bool quick, struct config_block in_use,
                        struct config_block own)
{
    static const short few[][2] = {{32, 1}, {64, 1}, {128, 1}, {256, 1}, {512, 1}, {32, 2},
                                   {32, 4}, {32, 8}, {64, 4},  {128, 2}, {16, 16}, {32, 16}};
    static const short more[][2] = {{32, 1},  {96, 1},  {96, 2},  {96, 4},  {160, 1},
                                    {192, 1}, {192, 2}, {192, 4}, {384, 1}, {384, 2},
                                    {768, 1}, {2, 128}, {1, 256}, {1, 1024}};

    add_shape(shapes, in_use.x, in_use.y, in_use.rows);
    add_shape(shapes, own.x, own.y, in_use.rows);
    for (size_t i = 0; quick && i < ARRAY_LENGTH(few); i++) {
        add_shape(shapes, few[i][0], few[i][1], in_use.rows);
    }
    for (int threads = 64; !quick && threads <= CONFIG_BLOCK_THREADS_MAX; threads *= 2) {
        for (int x = threads; x >= 4; x /= 2) {
            add_shape(shapes, x, threads / x, in_use.rows);
        }
    }
    for (size_t i = 0; !quick && i < ARRAY_LENGTH(more); i++) {
        add_shape(shapes, more[i][0], more[i][1], in_use.rows);
    }
}

// A shape as it is, and with other rows a thread.
static void list_rows(struct shapes *shapes, struct config_block shape, int own_rows)
{
    const int rows[] = {shape.rows, own_rows, 2, 4, 8, 16, 32};

    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        add_shape(shapes, shape.x, shape.y, rows[i]);
    }
}

static int run_candidate(void *context, struct error *error, double *ret_us)
{
    const struct candidate *candidate = context;
    const struct gpu_kernel *kernel = candidate->kernel;
    int r;

    gpu_set_blocks(candidate->gpu, candidate->blocks);
    r = rig_time(candidate->rig, error, ret_us);
    // It has another block where this one is not legal or the launch was refused.
    return r == 0 && kernel && !shape_equal(kernel->block, candidate->blocks[kernel->group])
               ? -EAGAIN
               : r;
}

static int threads_max(const struct gpu_kernel *kernel)
{
    int threads = 0;

    return gpu_driver(kernel->gpu)
                       ->function_attribute(&threads, CUDA_FUNCTION_MAX_THREADS,
                                            kernel->function) == CUDA_SUCCESS
               ? threads
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
static void add_result(struct sweep *sweep, const struct gpu_kernel *kernel,
                       struct config_block block, struct timing time)
{
    size_t i = 0;

    while (i < sweep->count && !shape_equal(sweep->shapes[i].block, block)) {
        i++;
    }
    sweep->shapes[i] = (struct sweep_shape){block, time, occupancy(kernel, block)};
    sweep->count += i == sweep->count;
}

// Times the shapes in rounds with a copy.
static int measure_shapes(const struct tune *tune, struct rig *rig, const char *what,
                          const struct shapes *shapes, struct sweep *sweep, struct error *error)
{
    const struct gpu_kernel *kernel = gpu_runner_kernel(&rig->kernels, sweep->kernel);
    struct candidate candidates[SHAPES_MAX];
    size_t count = shapes->count;
    g_autofree struct timed *timed = g_new0(struct timed, count + 1);
    char title[128];
    int r;

    for (size_t i = 0; i < count; i++) {
        candidates[i] = (struct candidate){.rig = rig, .gpu = rig->gpu, .kernel = kernel};
        memcpy(candidates[i].blocks, tune->target.config->blocks, sizeof candidates[i].blocks);
        candidates[i].blocks[sweep->kernel] = shapes->list[i];
        timed[i] = (struct timed){.run = run_candidate, .context = &candidates[i]};
    }
    timed[count] = (struct timed){.run = rig_time_copy, .context = rig};
    snprintf(title, sizeof title, "%s, %s memory, %s%s", sweep->view->name,
             config_memory_name(sweep->memory), config_kernel_name(sweep->kernel), what);
    r = timing_run(timed, count + 1, tune->quick ? RUNS_QUICK : RUNS, title, error);
    for (size_t i = 0; i < count && r == 0; i++) {
        if (!timed[i].left_out && timed[i].count > 0) {
            add_result(sweep, kernel, shapes->list[i], timed[i].result);
        }
    }
    if (r == 0 && timed[count].count > 0) {
        sweep->copy = timed[count].result;
    }
    qsort(sweep->shapes, sweep->count, sizeof sweep->shapes[0], compare_shapes);
    return r;
}

// Measures one kernel: many shapes, then the best so far and the one in use with other rows.
static int measure_kernel(const struct tune *tune, struct rig *rig, struct sweep *sweep,
                          struct error *error)
{
    const struct gpu_kernel *kernel = gpu_runner_kernel(&rig->kernels, sweep->kernel);
    struct shapes shapes = {.threads_max = threads_max(kernel)};
    size_t best = tune->quick ? BEST_QUICK : BEST;
    const struct sweep_shape *in_use;
    int r;

    list_shapes(&shapes, tune->quick, sweep->in_use, kernel->block);
    r = measure_shapes(tune, rig, "", &shapes, sweep, error);
    if (r == 0 && kernel->rows_vary && !interrupt_seen()) {
        shapes.count = 0;
        for (size_t i = 0; i < sweep->count && i < best; i++) {
            list_rows(&shapes, sweep->shapes[i].block, (int)kernel->tile.height);
        }
        list_rows(&shapes, sweep->in_use, (int)kernel->tile.height);
        r = measure_shapes(tune, rig, ", rows a thread", &shapes, sweep, error);
    }
    in_use = sweep_find(sweep, sweep->in_use);
    sweep->within_noise = in_use && !timing_is_faster(sweep->shapes[0].time, in_use->time);
    return r;
}

// Measures the view's kernels in one kind of memory.
static int measure_memory(struct tune *tune, const struct config_view *view,
                          const struct gpu_memory *memory, struct error *error)
{
    const struct view_setup setup = {.settings = view,
                                     .input = &tune->target.input,
                                     .allocator = gpu_memory_allocator(memory),
                                     .gpu = tune->session.gpu};
    enum config_kernel kernels[CONFIG_KERNEL_COUNT];
    struct rig rig;
    int r = rig_init_kernels(&rig, &setup, error);
    size_t count = r == 0 ? gpu_runner_groups(&rig.kernels, kernels) : 0;

    for (size_t i = 0; i < count && r == 0 && !interrupt_seen(); i++) {
        struct sweep *sweep = &tune->sweeps[tune->sweep_count];

        gpu_set_blocks(rig.gpu, tune->target.config->blocks);
        *sweep = (struct sweep){
            .view = view,
            .kernel = kernels[i],
            .further = i > 0,
            .memory = gpu_memory_kind(memory),
            .bytes = rig.bytes,
            .in_use = gpu_runner_kernel(&rig.kernels, kernels[i])->block,
        };
        r = measure_kernel(tune, &rig, sweep, error);
        tune->sweep_count += r == 0 && sweep->count > 0;
        if (r < 0 && r != -ENOMEM) {
            gpu_lose(rig.gpu);
        }
    }
    rig_finish(&rig);
    return r;
}

// Times whole frames of the view, CPU to CPU, with the best shapes of all kernels, in all kinds of
// memory in turns. `sweeps` are those of the view.
static int measure_paths(const struct tune *tune, const struct config_view *view,
                         struct sweep *sweeps, size_t count, struct error *error)
{
    unsigned runs = 3 * (tune->quick ? RUNS_QUICK : RUNS);
    struct candidate paths[ARRAY_LENGTH(tune->memories)] = {0};
    g_autofree struct rig *rigs = g_new0(struct rig, ARRAY_LENGTH(paths));
    g_autofree struct timed *timed = g_new0(struct timed, ARRAY_LENGTH(paths));
    int r = 0;

    for (size_t i = 0; i < tune->memory_count && r == 0; i++) {
        const struct view_setup setup = {.settings = view,
                                         .input = &tune->target.input,
                                         .allocator = gpu_memory_allocator(tune->memories[i]),
                                         .gpu = tune->session.gpu};

        paths[i] = (struct candidate){.rig = &rigs[i], .gpu = tune->session.gpu};
        timed[i] = (struct timed){.run = run_candidate, .context = &paths[i]};
        for (size_t j = 0; j < count; j++) {
            if (sweeps[j].memory == gpu_memory_kind(tune->memories[i])) {
                paths[i].blocks[sweeps[j].kernel] = sweeps[j].shapes[0].block;
            }
        }
        r = rig_init_view(&rigs[i], &setup, error);
    }
    if (r == 0) {
        r = timing_run(timed, tune->memory_count, runs, "whole frames", error);
        if (r < 0) {
            gpu_lose(tune->session.gpu);
        }
    }
    for (size_t i = 0; i < tune->memory_count && r == 0; i++) {
        for (size_t j = 0; j < count; j++) {
            if (sweeps[j].memory == gpu_memory_kind(tune->memories[i])) {
                sweeps[j].path = timed[i].result;
            }
        }
    }
    for (size_t i = 0; i < ARRAY_LENGTH(paths); i++) {
        rig_finish(&rigs[i]);
    }
    return r;
}

int sweep_view(struct tune *tune, const struct config_view *view, struct error *error)
{
    size_t first = tune->sweep_count;
    int r = 0;

    for (size_t i = 0; i < tune->memory_count && r == 0 && !interrupt_seen(); i++) {
        r = measure_memory(tune, view, tune->memories[i], error);
    }
    return r < 0 || interrupt_seen()
               ? r
               : measure_paths(tune, view, &tune->sweeps[first], tune->sweep_count - first, error);
}
