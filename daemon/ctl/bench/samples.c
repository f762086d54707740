#include "daemon/ctl/bench/samples.h"

#include <stdlib.h>

void samples_add(struct samples *samples, double value)
{
    if (samples->count < SAMPLES_MAX) {
        samples->values[samples->count++] = value;
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

// The quartile number `part` (0 to 4) of sorted samples, of which there is at least one.
static double quantile(const struct samples *samples, size_t part)
{
    size_t quarters = (samples->count - 1) * part;
    size_t index = quarters / 4;
    double rest = (double)(quarters % 4) / 4;
    double value = samples->values[index];

    return rest > 0 ? value + rest * (samples->values[index + 1] - value) : value;
}

struct summary samples_summarize(struct samples *samples)
{
    if (samples->count == 0) {
        return (struct summary){0};
    }
    qsort(samples->values, samples->count, sizeof samples->values[0], compare);
    return (struct summary){
        .median = quantile(samples, 2),
        .spread = quantile(samples, 3) - quantile(samples, 1),
    };
}

bool summary_is_faster(const struct summary *a, const struct summary *b)
{
    double noise = a->spread > b->spread ? a->spread : b->spread;

    return b->median - a->median > noise;
}
