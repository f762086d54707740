#include "daemon/ctl/bench/interleave.h"

#include "daemon/ctl/progress.h"

#include <errno.h>

static int run_one(struct timed *timed, bool keep, struct error *error)
{
    double us = 0;
    int r = timed->left_out ? -EAGAIN : timed->run(timed->context, error, &us);

    if (r == -EAGAIN) {
        timed->left_out = true;
        return 0;
    }
    if (r == 0 && keep) {
        samples_add(&timed->samples, us);
    }
    return r;
}

static int run_rounds(struct timed *timed, size_t count, unsigned runs, struct progress *progress,
                      struct error *error)
{
    for (unsigned round = 0; round <= runs; round++) {
        for (size_t i = 0; i < count; i++) {
            int r;

            if (interrupt_seen()) {
                return 0;
            }
            r = run_one(&timed[(round + i) % count], round > 0, error);
            if (r < 0) {
                return r;
            }
            progress_step(progress);
        }
    }
    return 0;
}

int interleave_run(struct timed *timed, size_t count, unsigned runs, const char *title,
                   struct error *error)
{
    struct progress progress;
    int r;

    progress_start(&progress, title, (runs + 1) * count);
    r = run_rounds(timed, count, runs, &progress, error);
    progress_end(&progress);
    return r;
}
