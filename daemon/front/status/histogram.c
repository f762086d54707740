// Eight bounds a decade where frames live (0.1 ms to 1 s), a few on either side, all short decimal
// numbers so that `le=` labels stay readable. Whole microseconds, so that comparing is exact.
#include "daemon/front/status/histogram.h"

#include "config/base.h"

// clang-format off
static const uint32_t bounds_us[HISTOGRAM_BUCKETS] = {
    50,      75, // below 0.1 ms, then one row a decade
    100,     130,     180,     240,     320,     420,      560,    750,    // 0.1 ms
    1000,    1300,    1800,    2400,    3200,    4200,     5600,   7500,   // 1 ms
    10000,   13000,   18000,   24000,   32000,   42000,    56000,  75000,  // 10 ms
    100000,  130000,  180000,  240000,  320000,  420000,   560000, 750000, // 100 ms
    1000000, 1500000, 2500000, 4000000, 6000000, 10000000,                 // 1 s and above
};
// clang-format on

double histogram_bound_s(unsigned bucket)
{
    return bounds_us[bucket] / 1e6;
}

void histogram_add_ns(struct histogram *histogram, int64_t value_ns)
{
    unsigned bucket = 0;

    if (value_ns < 0) // a clock that ran backwards between two programs
        value_ns = 0;
    while (bucket < HISTOGRAM_BUCKETS && value_ns > bounds_us[bucket] * NS_PER_US)
        bucket++;
    histogram->buckets[bucket]++;
    histogram->count++;
    histogram->sum_s += value_ns / 1e9;
}

double histogram_percentile_ms(const struct histogram *histogram, double share)
{
    double rank = share * histogram->count;
    uint64_t below = 0;

    if (histogram->count == 0)
        return 0;
    for (unsigned bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
        uint64_t here = histogram->buckets[bucket];
        double lower_ms = bucket > 0 ? bounds_us[bucket - 1] / 1e3 : 0;
        double upper_ms = bounds_us[bucket] / 1e3;

        if (here > 0 && below + here >= rank)
            return lower_ms + (upper_ms - lower_ms) * (rank - below) / here;
        below += here;
    }
    return bounds_us[HISTOGRAM_BUCKETS - 1] / 1e3; // nothing more is known of the last bucket
}
