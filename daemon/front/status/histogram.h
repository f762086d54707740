// Latency histogram with fixed, roughly logarithmic buckets from 50 us to 10 s, as Prometheus
// wants them (cumulative, upper bounds) and fine enough for percentiles by interpolation.
#pragma once

#include <stdint.h>

#define HISTOGRAM_BUCKETS 40
// Every second bound between these two, 1 ms and 2.5 s, is enough for the metrics.
#define HISTOGRAM_COARSE_FIRST 10
#define HISTOGRAM_COARSE_LAST 36

struct histogram {
    uint64_t buckets[HISTOGRAM_BUCKETS + 1]; // counts, the last one above every bound
    uint64_t count;
    double sum_s;
};

// Upper bound of a bucket in seconds; ascending.
double histogram_bound_s(unsigned bucket);
void histogram_add_ns(struct histogram *histogram, int64_t value_ns);
// The value below which `share` (0..1) of the samples lie, in milliseconds; 0 without samples.
double histogram_percentile_ms(const struct histogram *histogram, double share);
