#include "daemon/front/stream/freshness.h"

#include "config/base.h"

#define FRESHNESS_LIMIT_NS (700 * NS_PER_MS)
#define FRESHNESS_INTERVALS 3
// A longer interval is a pause, unless the one before was as long; none counts as longer than the
// maximum.
#define FRESHNESS_PAUSE_NS (1500 * NS_PER_MS)
#define FRESHNESS_INTERVAL_MAX_NS (20 * NS_PER_S)

void freshness_start(struct freshness *freshness, int64_t now_ns)
{
    freshness->last_ns = now_ns;
    freshness->starting = true;
}

void freshness_note(struct freshness *freshness, int64_t now_ns)
{
    int64_t interval_ns = now_ns - freshness->last_ns;

    // The start may be anywhere between two frames, so its interval may only be too short.
    if (!freshness->starting || interval_ns > freshness->interval_ns) {
        freshness->interval_before_ns = freshness->interval_ns;
        freshness->interval_ns = interval_ns;
    }
    freshness->starting = false;
    freshness->last_ns = now_ns;
}

static int64_t expected_interval_ns(const struct freshness *freshness)
{
    int64_t interval_ns = freshness->interval_ns;

    if (interval_ns >= FRESHNESS_PAUSE_NS && freshness->interval_before_ns < interval_ns) {
        interval_ns = freshness->interval_before_ns;
    }
    return interval_ns < FRESHNESS_INTERVAL_MAX_NS ? interval_ns : FRESHNESS_INTERVAL_MAX_NS;
}

int64_t freshness_left_ns(const struct freshness *freshness, int64_t now_ns)
{
    int64_t limit_ns = FRESHNESS_INTERVALS * expected_interval_ns(freshness);

    return freshness->last_ns - now_ns +
           (limit_ns > FRESHNESS_LIMIT_NS ? limit_ns : FRESHNESS_LIMIT_NS);
}
