// Chooses what of the sweeps is worth writing.
#include "daemon/ctl/bench/tune.h"

#define CLEARLY 0.95 // of the time in use

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
        struct sweep_choice choice = {.count = 0};

        for (size_t i = 0; i < count && choice.count < ARRAY_LENGTH(choice.sweeps); i++) {
            if (sweeps[i].kernel == kernel && sweeps[i].memory == memory) {
                choice.sweeps[choice.count++] = &sweeps[i];
            }
        }
        changed |= sweep_choose(&choice, &content->blocks[kernel]);
    }
    return changed;
}
