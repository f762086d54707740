// Times of one thing that was measured many times, and their summary.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SAMPLES_MAX 1000

struct samples {
    double values[SAMPLES_MAX]; // microseconds; sorted by samples_summarize()
    size_t count;
};

struct summary {
    double median;
    double spread; // between the quartiles: half of all samples lie that close together
};

// A sample that does not fit any more is dropped.
void samples_add(struct samples *samples, double value);
// The median is the mean of the middle two of an even number; quartiles are interpolated between
// the sorted values at (count - 1) / 4 and 3 (count - 1) / 4. Zeros for no samples.
struct summary samples_summarize(struct samples *samples);
// Whether `a` is faster than `b` by more than both of them spread.
bool summary_is_faster(const struct summary *a, const struct summary *b);
