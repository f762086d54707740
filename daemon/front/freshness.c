#include "daemon/front/freshness.h"

#include "config/base.h"

#define FRESHNESS_LIMIT_NS (700 * NS_PER_MS)
#define FRESHNESS_INTERVALS 3
// A pause is no frame rate.
#define FRESHNESS_INTERVAL_MAX_NS (1500 * NS_PER_MS)

void freshness_start(struct freshness *freshness, int64_t now_ns)
{
    freshness->last_ns = now_ns;
}

void freshness_note(struct freshness *freshness, int64_t now_ns)
{
    int64_t interval_ns = now_ns - freshness->last_ns;

    freshness->interval_ns = interval_ns < FRESHNESS_INTERVAL_MAX_NS ? interval_ns : 0;
    freshness->last_ns = now_ns;
}

int64_t freshness_left_ns(const struct freshness *freshness, int64_t now_ns)
{
    int64_t limit_ns = freshness->interval_ns * FRESHNESS_INTERVALS;

    return freshness->last_ns - now_ns +
           (limit_ns > FRESHNESS_LIMIT_NS ? limit_ns : FRESHNESS_LIMIT_NS);
}
