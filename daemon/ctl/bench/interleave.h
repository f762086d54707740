// Times several things in rounds, one after the other in each, so that other work of the machine
// slows all of them alike.
#pragma once

#include "config/base.h"
#include "daemon/ctl/bench/samples.h"

struct timed {
    // Does the thing once; *ret_us is how long that took. -EAGAIN: it cannot be done, and is left
    // out from now on. Any other error ends the measurement.
    int (*run)(void *context, struct error *error, double *ret_us);
    void *context; // not owned
    bool left_out;
    struct samples samples; // the result
};

// `runs` rounds (1..SAMPLES_MAX) after one to warm up, each beginning with another one of `count`.
// A bar called `title` shows how far it is. Ends early when interrupt_seen(), with what there is.
// Errors of run().
int interleave_run(struct timed *timed, size_t count, unsigned runs, const char *title,
                   struct error *error);
