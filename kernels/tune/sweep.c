#include "kernels/tune/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RUNS 41
#define RUNS_QUICK 11
// Shapes that are tried with other rows a thread, beside the one in use.
#define BEST 4
#define BEST_QUICK 2

// The shapes to be timed: each once, of at most `threads_max` threads.
struct shapes {
    struct config_block list[SWEEP_SHAPES_MAX];
    size_t count;
    int threads_max;
};

// A block of the kernel that is timed.
struct candidate {
    struct sweep_run *run;
    struct config_block block;
};

struct sweep_run {
    struct rig *rig;     // not owned
    struct sweep *sweep; // not owned
    struct gpu_kernel *kernel;
    bool failed;           // nothing is asked of the GPU any more
    bool quick, with_rows; // the second phase: other rows a thread
    struct shapes shapes;
    struct candidate candidates[SWEEP_SHAPES_MAX];
    struct timed timed[SWEEP_SHAPES_MAX + 1]; // the last is a copy
    struct timing_rounds rounds;
};

bool sweep_shape_equal(struct config_block a, struct config_block b)
{
    return a.x == b.x && a.y == b.y && a.rows == b.rows;
}

static void add_shape(struct shapes *shapes, int x, int y, int rows)
{
    struct config_block shape = {x, y, rows};

    if (x < 1 || y < 1 || x * y > shapes->threads_max || shapes->count == SWEEP_SHAPES_MAX)
        return;
    for (size_t i = 0; i < shapes->count; i++) {
        if (sweep_shape_equal(shapes->list[i], shape))
            return;
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
    for (size_t i = 0; quick && i < ARRAY_LENGTH(few); i++)
        add_shape(shapes, few[i][0], few[i][1], in_use.rows);
    for (int threads = 64; !quick && threads <= CONFIG_BLOCK_THREADS_MAX; threads *= 2) {
        for (int x = threads; x >= 4; x /= 2)
            add_shape(shapes, x, threads / x, in_use.rows);
    }
    for (size_t i = 0; !quick && i < ARRAY_LENGTH(more); i++)
        add_shape(shapes, more[i][0], more[i][1], in_use.rows);
}

// A shape as it is, and with other rows a thread.
static void list_rows(struct shapes *shapes, struct config_block shape, int own_rows)
{
    const int rows[] = {shape.rows, own_rows, 2, 4, 8, 16, 32};

    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
        add_shape(shapes, shape.x, shape.y, rows[i]);
}

static int run_candidate(void *context, struct error *error, double *ret_us)
{
    const struct candidate *candidate = context;
    const struct sweep_run *run = candidate->run;
    int r;

    runner_try_block(&run->rig->runner, run->sweep->kernel, candidate->block);
    r = rig_time(run->rig, error, ret_us);
    // It has another block where this one is not legal or the launch was refused.
    return r == 0 && !sweep_shape_equal(run->kernel->block, candidate->block) ? -EAGAIN : r;
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
        if (sweep_shape_equal(sweep->shapes[i].block, block))
            return &sweep->shapes[i];
    }
    return NULL;
}

// Adds a result. It replaces an earlier one of the same shape, because the better shapes were timed
// in the same rounds as the new one.
static void add_result(struct sweep *sweep, const struct gpu_kernel *kernel,
                       struct config_block block, struct timing time)
{
    size_t i = 0;

    while (i < sweep->count && !sweep_shape_equal(sweep->shapes[i].block, block))
        i++;
    sweep->shapes[i] = (struct sweep_shape){block, time, occupancy(kernel, block)};
    sweep->count += i == sweep->count;
}

// Begins to time the shapes in rounds with a copy.
static void begin_phase(struct sweep_run *run)
{
    size_t count = run->shapes.count;

    for (size_t i = 0; i < count; i++) {
        run->candidates[i] = (struct candidate){run, run->shapes.list[i]};
        run->timed[i] = (struct timed){.run = run_candidate, .context = &run->candidates[i]};
    }
    run->timed[count] = (struct timed){.run = rig_time_copy, .context = run->rig};
    run->rounds = (struct timing_rounds){run->timed, count + 1, run->quick ? RUNS_QUICK : RUNS, 0};
}

int sweep_begin(struct rig *rig, bool quick, struct sweep *sweep, struct sweep_run **ret_run)
{
    struct sweep_run *run = calloc(1, sizeof *run);

    if (!run)
        return -ENOMEM;
    run->rig = rig;
    run->sweep = sweep;
    run->quick = quick;
    run->kernel = runner_kernel(&rig->runner, sweep->kernel);
    run->shapes.threads_max = threads_max(run->kernel);
    sweep->bytes = rig->bytes;
    sweep->in_use = run->kernel->block;
    list_shapes(&run->shapes, quick, sweep->in_use, run->kernel->own);
    begin_phase(run);
    *ret_run = run;
    return 0;
}

size_t sweep_turns(const struct sweep_run *run)
{
    return timing_turns(&run->rounds);
}

int sweep_turn(void *context, struct error *error)
{
    struct sweep_run *run = context;
    int r = timing_turn(&run->rounds, error);

    run->failed = r < 0;
    return r;
}

size_t sweep_turns_taken(const struct sweep_run *run)
{
    return run->rounds.turn;
}

bool sweep_best(const struct sweep_run *run, struct config_block *ret_block, double *ret_us)
{
    double best = 0;

    for (size_t i = 0; i < run->shapes.count; i++) {
        double median = timing_median(&run->timed[i]);

        if (median > 0 && (best <= 0 || median < best)) {
            best = *ret_us = median;
            *ret_block = run->shapes.list[i];
        }
    }
    return best > 0;
}

bool sweep_last(const struct sweep_run *run, struct config_block *ret_block, double *ret_us)
{
    size_t turn = run->rounds.turn - 1, count = run->rounds.count;
    size_t last = (turn / count + turn) % count;

    if (run->rounds.turn == 0 || last == run->shapes.count || run->timed[last].count == 0)
        return false;
    *ret_block = run->shapes.list[last];
    *ret_us = run->timed[last].samples[run->timed[last].count - 1];
    return true;
}

double sweep_share(const struct sweep_run *run)
{
    double share = (double)run->rounds.turn / (double)timing_turns(&run->rounds);

    return run->kernel->rows_vary ? (share + run->with_rows) / 2 : share;
}

static void collect(struct sweep_run *run)
{
    struct sweep *sweep = run->sweep;
    size_t count = run->shapes.count;

    timing_sum_up(&run->rounds);
    for (size_t i = 0; i < count; i++) {
        if (!run->timed[i].left_out && run->timed[i].count > 0)
            add_result(sweep, run->kernel, run->shapes.list[i], run->timed[i].result);
    }
    if (run->timed[count].count > 0)
        sweep->copy = run->timed[count].result;
    qsort(sweep->shapes, sweep->count, sizeof sweep->shapes[0], compare_shapes);
}

bool sweep_go_on(struct sweep_run *run)
{
    const struct sweep *sweep = run->sweep;
    size_t best = run->quick ? BEST_QUICK : BEST;
    int own_rows = (int)run->kernel->tile.height;

    if (run->with_rows || !run->kernel->rows_vary)
        return false;
    collect(run);
    run->with_rows = true;
    run->shapes.count = 0;
    for (size_t i = 0; i < sweep->count && i < best; i++)
        list_rows(&run->shapes, sweep->shapes[i].block, own_rows);
    list_rows(&run->shapes, sweep->in_use, own_rows);
    begin_phase(run);
    return true;
}

void sweep_end(struct sweep_run *run)
{
    struct sweep *sweep = run->sweep;
    const struct sweep_shape *in_use;

    if (!run->failed) {
        collect(run);
        in_use = sweep_find(sweep, sweep->in_use);
        sweep->within_noise = in_use && !timing_is_faster(sweep->shapes[0].time, in_use->time);
        runner_leave_block(&run->rig->runner, sweep->kernel);
    }
    free(run);
}

// Choosing
// ---------------------------------------------------------------------

// Adds up the kernel's times in one shape over all its views; false if a view has none.
static bool sum_shape(const struct sweep_choice *choice, struct config_block block,
                      struct timing *ret_sum)
{
    *ret_sum = (struct timing){0};
    for (size_t i = 0; i < choice->count; i++) {
        const struct sweep_shape *shape = sweep_find(choice->sweeps[i], block);

        if (!shape)
            return false;
        ret_sum->median += shape->time.median;
        ret_sum->spread += shape->time.spread;
    }
    return ret_sum->median > 0;
}

// The fastest shape of all that are faster than `used` by more than the noise; else `used`.
static struct config_block find_best(const struct sweep_choice *choice, struct config_block used,
                                     struct timing used_time, struct timing *ret_time)
{
    const struct sweep *sweep = choice->sweeps[0];
    struct config_block best = used;
    struct timing sum;

    *ret_time = used_time;
    for (size_t i = 0; i < sweep->count; i++) {
        if (sum_shape(choice, sweep->shapes[i].block, &sum) && sum.median < ret_time->median &&
            timing_is_faster(sum, used_time)) {
            *ret_time = sum;
            best = sweep->shapes[i].block;
        }
    }
    return best;
}

bool sweep_choose(const struct sweep_choice *choice, struct config_block *block)
{
    struct config_block used, best, simpler[2];
    struct timing used_time, best_time, sum;

    if (choice->count == 0 || !sum_shape(choice, choice->sweeps[0]->in_use, &used_time))
        return false;
    used = choice->sweeps[0]->in_use;
    best = find_best(choice, used, used_time, &best_time);
    if (sweep_shape_equal(best, used))
        return false;
    // Other rows or another block alone, where that is as good within the noise.
    simpler[0] = (struct config_block){used.x, used.y, best.rows};
    simpler[1] = (struct config_block){best.x, best.y, used.rows};
    for (size_t i = 0; i < ARRAY_LENGTH(simpler); i++) {
        if (sum_shape(choice, simpler[i], &sum) && timing_is_faster(sum, used_time) &&
            !timing_is_faster(best_time, sum)) {
            best = simpler[i];
            break;
        }
    }
    if (best.x != used.x || best.y != used.y) {
        block->x = best.x;
        block->y = best.y;
    }
    if (best.rows != used.rows)
        block->rows = best.rows;
    return true;
}
