// Chooses what of a report is worth writing.
#include "daemon/ctl/bench/tune_report.h"

#define CLEARLY 0.95 // of the time in use

static void add(struct summary *sum, const struct summary *part)
{
    sum->median += part->median;
    sum->spread += part->spread;
}

// Adds up the times of whole frames of all views in one kind of memory; false if a view has none.
static bool sum_paths(const struct tune_report *report, enum config_memory memory,
                      struct summary *ret_sum)
{
    *ret_sum = (struct summary){0};
    for (size_t i = 0; i < report->count; i++) {
        const struct sweep *sweep = &report->sweeps[i];

        if (sweep->memory == memory && !sweep->further) {
            if (sweep->path.median <= 0) {
                return false;
            }
            add(ret_sum, &sweep->path);
        }
    }
    return ret_sum->median > 0;
}

static enum config_memory choose_memory(const struct tune_report *report)
{
    enum config_memory best = report->memory_in_use;
    struct summary used, least, sum;

    if (!sum_paths(report, best, &used)) {
        return best;
    }
    least = used;
    for (enum config_memory i = CONFIG_MEMORY_REGISTERED; i < CONFIG_MEMORY_HOST; i++) {
        if (sum_paths(report, i, &sum) && sum.median < least.median &&
            sum.median < CLEARLY * used.median && summary_is_faster(&sum, &used)) {
            least = sum;
            best = i;
        }
    }
    return best;
}

// Adds up the kernel's times in one shape over all its views; false if a view has none.
static bool sum_shape(const struct tune_report *report, enum config_kernel kernel,
                      enum config_memory memory, struct config_block block, struct summary *ret_sum)
{
    *ret_sum = (struct summary){0};
    for (size_t i = 0; i < report->count; i++) {
        const struct sweep *sweep = &report->sweeps[i];
        const struct sweep_shape *shape;

        if (sweep->kernel != kernel || sweep->memory != memory) {
            continue;
        }
        shape = sweep_find(sweep, block);
        if (!shape) {
            return false;
        }
        add(ret_sum, &shape->time);
    }
    return ret_sum->median > 0;
}

static const struct sweep *find_sweep(const struct tune_report *report, enum config_kernel kernel,
                                      enum config_memory memory)
{
    for (size_t i = 0; i < report->count; i++) {
        if (report->sweeps[i].kernel == kernel && report->sweeps[i].memory == memory) {
            return &report->sweeps[i];
        }
    }
    return NULL;
}

// A kernel's times in one kind of memory.
struct choice {
    const struct tune_report *report;
    enum config_kernel kernel;
    enum config_memory memory;
    struct config_block used, best;
    struct summary used_time, best_time;
};

static bool sum_of(const struct choice *choice, struct config_block block, struct summary *ret_sum)
{
    return sum_shape(choice->report, choice->kernel, choice->memory, block, ret_sum);
}

// False if nothing is faster than what is in use.
static bool find_best(struct choice *choice)
{
    const struct sweep *sweep = find_sweep(choice->report, choice->kernel, choice->memory);
    struct summary sum;

    if (!sweep || !sum_of(choice, sweep->in_use, &choice->used_time)) {
        return false;
    }
    choice->used = choice->best = sweep->in_use;
    choice->best_time = choice->used_time;
    for (size_t i = 0; i < sweep->count; i++) {
        if (sum_of(choice, sweep->shapes[i].block, &sum) && sum.median < choice->best_time.median &&
            summary_is_faster(&sum, &choice->used_time)) {
            choice->best_time = sum;
            choice->best = sweep->shapes[i].block;
        }
    }
    return !shape_equal(choice->best, choice->used);
}

// Whether `block` is as good as the best, as far as the noise lets one see.
static bool is_as_good(const struct choice *choice, struct config_block block)
{
    struct summary sum;

    return sum_of(choice, block, &sum) && summary_is_faster(&sum, &choice->used_time) &&
           !summary_is_faster(&choice->best_time, &sum);
}

static bool choose_block(const struct tune_report *report, enum config_kernel kernel,
                         enum config_memory memory, struct config_block *block)
{
    struct choice choice = {.report = report, .kernel = kernel, .memory = memory};
    struct config_block rows_alone, threads_alone;

    if (!find_best(&choice)) {
        return false;
    }
    rows_alone = (struct config_block){choice.used.x, choice.used.y, choice.best.rows};
    threads_alone = (struct config_block){choice.best.x, choice.best.y, choice.used.rows};
    if (is_as_good(&choice, rows_alone)) {
        choice.best = rows_alone;
    } else if (is_as_good(&choice, threads_alone)) {
        choice.best = threads_alone;
    }
    if (!shape_same_threads(choice.best, choice.used)) {
        block->x = choice.best.x;
        block->y = choice.best.y;
    }
    if (choice.best.rows != choice.used.rows) {
        block->rows = choice.best.rows;
    }
    return true;
}

bool tune_report_choose(const struct tune_report *report, struct kernels_conf *content)
{
    enum config_memory memory =
        content->memory_elsewhere ? report->memory_in_use : choose_memory(report);
    bool changed = memory != report->memory_in_use;

    if (changed) {
        content->sets_memory = true;
        content->memory = memory;
    }
    for (enum config_kernel i = 0; i < CONFIG_KERNEL_COUNT; i++) {
        changed |= choose_block(report, i, memory, &content->blocks[i]);
    }
    return changed;
}
