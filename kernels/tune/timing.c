#include "kernels/tune/timing.h"

#include <errno.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

// The quartile number `part` (0 to 4) of sorted samples, of which there is at least one.
static double quartile(const struct timed *timed, size_t part)
{
    size_t quarters = (timed->count - 1) * part;
    const double *value = &timed->samples[quarters / 4];

    return quarters % 4 ? *value + (double)(quarters % 4) / 4 * (value[1] - *value) : *value;
}

static void summarize(struct timed *timed)
{
    qsort(timed->samples, timed->count, sizeof timed->samples[0], compare);
    if (timed->count > 0) {
        timed->result.median = quartile(timed, 2);
        timed->result.spread = quartile(timed, 3) - quartile(timed, 1);
    }
}

static int run_one(struct timed *timed, bool keep, struct error *error)
{
    double us = 0;
    int r = timed->left_out ? -EAGAIN : timed->run(timed->context, error, &us);

    if (r == -EAGAIN) {
        timed->left_out = true;
        return 0;
    }
    if (r == 0 && keep)
        timed->samples[timed->count++] = us;
    return r;
}

size_t timing_turns(const struct timing_rounds *rounds)
{
    return (rounds->runs + 1) * rounds->count;
}

int timing_turn(void *context, struct error *error)
{
    struct timing_rounds *rounds = context;
    size_t round = rounds->turn / rounds->count;
    int r = run_one(&rounds->timed[(round + rounds->turn) % rounds->count], round > 0, error);

    return r < 0 ? r : ++rounds->turn < timing_turns(rounds);
}

double timing_median(const struct timed *timed)
{
    struct timed sorted = *timed;

    summarize(&sorted);
    return sorted.result.median;
}

void timing_sum_up(const struct timing_rounds *rounds)
{
    for (size_t i = 0; i < rounds->count; i++)
        summarize(&rounds->timed[i]);
}

bool timing_is_faster(struct timing a, struct timing b)
{
    return b.median - a.median > (a.spread > b.spread ? a.spread : b.spread);
}
