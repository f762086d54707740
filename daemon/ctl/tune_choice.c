// What of a report is worth writing.
#include "daemon/ctl/tune_report.h"

#define CLEARLY 0.95 // of the time in use

static void add(struct summary *sum, const struct summary *part)
{
    sum->median += part->median;
    sum->spread += part->spread;
}

// Whole frames of all views in one kind of memory; false where one is missing.
static bool sum_paths(const struct tune_report *report, enum config_memory memory,
                      struct summary *ret_sum)
{
    *ret_sum = (struct summary){0};
    for (size_t i = 0; i < report->count; i++) {
        const struct sweep *sweep = &report->sweeps[i];

        if (sweep->memory == memory) {
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

// The kernel's time in one shape over all its views; false where a view lacks it.
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

static bool choose_block(const struct tune_report *report, enum config_kernel kernel,
                         enum config_memory memory, struct config_block *block)
{
    const struct sweep *sweep = find_sweep(report, kernel, memory);
    struct summary used, least, sum;
    bool changed = false;

    if (!sweep || !sum_shape(report, kernel, memory, sweep->in_use, &used)) {
        return false;
    }
    least = used;
    for (size_t i = 0; i < sweep->count; i++) {
        if (sum_shape(report, kernel, memory, sweep->shapes[i].block, &sum) &&
            sum.median < least.median && summary_is_faster(&sum, &used)) {
            least = sum;
            *block = sweep->shapes[i].block;
            changed = true;
        }
    }
    return changed;
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
