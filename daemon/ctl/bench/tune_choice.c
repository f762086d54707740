// Chooses what of the sweeps is worth writing.
#include "daemon/ctl/bench/tune.h"

#define CLEARLY 0.95 // of the time in use

// A kernel's sweeps in one kind of memory, one for each view that it computes.
struct choice {
    const struct sweep *sweeps[64]; // not owned
    size_t count;
};

static void add(struct timing *sum, struct timing part)
{
    sum->median += part.median;
    sum->spread += part.spread;
}

// Adds up the times of whole frames of all views in one kind of memory; false if a view has none.
static bool sum_paths(const struct sweep *sweeps, size_t count, enum config_memory memory,
                      struct timing *ret_sum)
{
    *ret_sum = (struct timing){0};
    for (size_t i = 0; i < count; i++) {
        if (sweeps[i].memory == memory && !sweeps[i].further) {
            if (sweeps[i].path.median <= 0) {
                return false;
            }
            add(ret_sum, sweeps[i].path);
        }
    }
    return ret_sum->median > 0;
}

static enum config_memory choose_memory(const struct sweep *sweeps, size_t count,
                                        enum config_memory in_use)
{
    enum config_memory best = in_use;
    struct timing used, least, sum;

    if (!sum_paths(sweeps, count, in_use, &used)) {
        return in_use;
    }
    least = used;
    for (enum config_memory i = CONFIG_MEMORY_REGISTERED; i < CONFIG_MEMORY_HOST; i++) {
        if (sum_paths(sweeps, count, i, &sum) && sum.median < least.median &&
            sum.median < CLEARLY * used.median && timing_is_faster(sum, used)) {
            least = sum;
            best = i;
        }
    }
    return best;
}

// Adds up the kernel's times in one shape over all its views; false if a view has none.
static bool sum_shape(const struct choice *choice, struct config_block block,
                      struct timing *ret_sum)
{
    *ret_sum = (struct timing){0};
    for (size_t i = 0; i < choice->count; i++) {
        const struct sweep_shape *shape = sweep_find(choice->sweeps[i], block);

        if (!shape) {
            return false;
        }
        add(ret_sum, shape->time);
    }
    return ret_sum->median > 0;
}

// The fastest shape of all that are faster than `used` by more than the noise; else `used`.
static struct config_block find_best(const struct choice *choice, struct config_block used,
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

static bool choose_block(const struct choice *choice, struct config_block *block)
{
    struct config_block used, best, simpler[2];
    struct timing used_time, best_time, sum;

    if (choice->count == 0 || !sum_shape(choice, choice->sweeps[0]->in_use, &used_time)) {
        return false;
    }
    used = choice->sweeps[0]->in_use;
    best = find_best(choice, used, used_time, &best_time);
    if (shape_equal(best, used)) {
        return false;
    }
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
    if (best.rows != used.rows) {
        block->rows = best.rows;
    }
    return true;
}

bool tune_choose(const struct sweep *sweeps, size_t count, enum config_memory in_use,
                 struct kernels_conf *content)
{
    enum config_memory memory =
        content->memory_elsewhere ? in_use : choose_memory(sweeps, count, in_use);
    bool changed = memory != in_use;

    if (changed) {
        content->sets_memory = true;
        content->memory = memory;
    }
    for (enum config_kernel kernel = 0; kernel < CONFIG_KERNEL_COUNT; kernel++) {
        struct choice choice = {.count = 0};

        for (size_t i = 0; i < count && choice.count < ARRAY_LENGTH(choice.sweeps); i++) {
            if (sweeps[i].kernel == kernel && sweeps[i].memory == memory) {
                choice.sweeps[choice.count++] = &sweeps[i];
            }
        }
        changed |= choose_block(&choice, &content->blocks[kernel]);
    }
    return changed;
}
