// Shared by the benches.
#pragma once

#include "config/base.h"

#include <stdint.h>
#include <stdlib.h>

static inline int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

// Sorts `times` (ns).
static inline double median_us(int64_t *times, unsigned runs)
{
    unsigned middle = runs / 2;

    qsort(times, runs, sizeof *times, compare_times);
    return (double)times[middle] / NS_PER_US;
}
