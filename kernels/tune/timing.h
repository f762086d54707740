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

// Begun with zero turns.
struct timing_rounds {
    struct timed *timed; // not owned
    size_t count;        // of them, at least 1
    unsigned runs;       // rounds that count, 1..TIMING_RUNS_MAX, after one to warm up
    size_t turn;         // turns taken
};

// How many turns there are in all: one for each thing in each round.
size_t timing_turns(const struct timing_rounds *rounds);
// Takes the next turn; each round begins with another one of the things. 1: there are more turns,
// 0: that was the last. Errors of run(). `rounds` is a struct timing_rounds.
int timing_turn(void *rounds, struct error *error);
// The median of the samples so far; 0 without any.
double timing_median(const struct timed *timed);
// Fills in the results, of the turns so far.
void timing_sum_up(const struct timing_rounds *rounds);
// Whether `a` is faster than `b` by more than either of them spreads.
bool timing_is_faster(struct timing a, struct timing b);
