#include "daemon/ctl/bench/timing.h"

#include "daemon/ctl/progress.h"

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
    if (r == 0 && keep) {
        timed->samples[timed->count++] = us;
    }
    return r;
}

int timing_run(struct timed *timed, size_t count, unsigned runs, const char *title,
               struct error *error)
{
    struct progress progress;
    size_t turns = (runs + 1) * count;
    int r = 0;

    progress_start(&progress, title, turns);
    for (size_t i = 0; i < turns && r == 0 && !interrupt_seen(); i++) {
        size_t round = i / count;

        r = run_one(&timed[(round + i) % count], round > 0, error);
        progress_step(&progress);
    }
    progress_end(&progress);
    for (size_t i = 0; i < count; i++) {
        summarize(&timed[i]);
    }
    return r;
}

bool timing_is_faster(struct timing a, struct timing b)
{
    return b.median - a.median > (a.spread > b.spread ? a.spread : b.spread);
}
