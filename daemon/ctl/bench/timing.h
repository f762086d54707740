// Times several things in rounds, one after the other in each, so that other work of the machine
// slows all of them alike.
#pragma once

#include "config/base.h"

#include <stdbool.h>

#define TIMING_RUNS_MAX 1000

// Microseconds. The spread is the distance of the quartiles: half of all samples lie that close
// together. Both are interpolated as numpy does; zeros without samples.
struct timing {
    double median, spread;
};

struct timed {
    // Does the thing once; *ret_us is how long that took. -EAGAIN: it cannot be done, and is left
    // out from now on. Any other error ends the measurement.
    int (*run)(void *context, struct error *error, double *ret_us);
    void *context; // not owned
    bool left_out;
    double samples[TIMING_RUNS_MAX];
    size_t count;         // of samples
    struct timing result; // of all samples
};

// `runs` rounds (1..TIMING_RUNS_MAX) after one to warm up, each beginning with another one of
// `count`. A bar called `title` shows how far it is. Ends early when interrupt_seen(), with what
// there is. Errors of run().
int timing_run(struct timed *timed, size_t count, unsigned runs, const char *title,
               struct error *error);
// Whether `a` is faster than `b` by more than either of them spreads.
bool timing_is_faster(struct timing a, struct timing b);
