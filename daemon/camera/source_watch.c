#include "daemon/camera/source_watch.h"

#define SILENCE_NS (2 * NS_PER_S)
#define SLATE_AFTER_NS (500 * NS_PER_MS)
#define SLATE_INTERVAL_NS (200 * NS_PER_MS)
// So many periods may pass without a frame before the signal counts as lost; a longer period than
// PERIOD_LONGEST_NS is not believed.
#define PERIODS 3
#define PERIOD_LONGEST_NS (20 * NS_PER_S)
#define RETRY_FIRST_NS (100 * NS_PER_MS)
#define RETRY_LONGEST_NS (2 * NS_PER_S)
#define HOPE_NS NS_PER_S

void source_watch_init(struct source_watch *watch, int64_t now_ns)
{
    *watch = (struct source_watch){.frame_ns = now_ns, .delay_ns = RETRY_FIRST_NS};
}

void source_watch_rate(struct source_watch *watch, unsigned fps_numerator, unsigned fps_denominator)
{
    source_watch_period(watch, NS_PER_S * fps_denominator / fps_numerator);
}

void source_watch_period(struct source_watch *watch, int64_t period_ns)
{
    watch->period_ns = period_ns < PERIOD_LONGEST_NS ? period_ns : PERIOD_LONGEST_NS;
}

// `shortest_ns`, or more from a camera whose frames are rare.
static int64_t patience_ns(const struct source_watch *watch, int64_t shortest_ns)
{
    int64_t periods_ns = PERIODS * watch->period_ns;

    return periods_ns > shortest_ns ? periods_ns : shortest_ns;
}

int64_t source_watch_patience_ns(const struct source_watch *watch)
{
    return patience_ns(watch, SLATE_AFTER_NS);
}

void source_watch_frame(struct source_watch *watch, int64_t now_ns)
{
    watch->frame_ns = now_ns;
}

void source_watch_live(struct source_watch *watch)
{
    watch->lost_ns = 0;
    watch->refusals = 0;
    watch->delay_ns = RETRY_FIRST_NS;
}

bool source_watch_is_silent(const struct source_watch *watch, int64_t now_ns)
{
    return now_ns - watch->frame_ns >= patience_ns(watch, SILENCE_NS);
}

int64_t source_watch_lose(struct source_watch *watch, int64_t now_ns)
{
    int64_t delay_ns = watch->delay_ns;

    if (!watch->lost_ns)
        watch->lost_ns = now_ns;
    watch->period_ns = 0;
    watch->retry_ns = now_ns + delay_ns;
    watch->delay_ns = 2 * delay_ns < RETRY_LONGEST_NS ? 2 * delay_ns : RETRY_LONGEST_NS;
    return delay_ns;
}

int64_t source_watch_refuse(struct source_watch *watch, int64_t now_ns)
{
    static const int minutes[] = {1, 2, 5, 10};
    size_t last = ARRAY_LENGTH(minutes) - 1, index = watch->refusals++;
    int64_t delay_ns = minutes[index < last ? index : last] * INT64_C(60) * NS_PER_S;

    source_watch_lose(watch, now_ns);
    watch->delay_ns = RETRY_FIRST_NS;
    watch->retry_ns = now_ns + delay_ns;
    return delay_ns;
}

void source_watch_ask_anew(struct source_watch *watch, int64_t now_ns)
{
    watch->refusals = 0;
    watch->retry_ns = now_ns;
}

void source_watch_device_came(struct source_watch *watch, int64_t now_ns)
{
    if (watch->came_ns && now_ns - watch->came_ns < HOPE_NS)
        return;
    watch->came_ns = now_ns;
    watch->retry_ns = now_ns;
    watch->delay_ns = RETRY_FIRST_NS;
}

bool source_watch_slate(struct source_watch *watch, int64_t now_ns, int64_t *ret_seconds)
{
    int64_t since_ns = watch->lost_ns ? watch->lost_ns : watch->frame_ns;

    if (now_ns - watch->frame_ns < source_watch_patience_ns(watch) ||
        now_ns - watch->slate_ns < SLATE_INTERVAL_NS) {
        return false;
    }
    watch->slate_ns = now_ns;
    *ret_seconds = (now_ns - since_ns) / NS_PER_S;
    return true;
}

int64_t source_watch_next_slate_ns(const struct source_watch *watch)
{
    int64_t first_ns = watch->frame_ns + source_watch_patience_ns(watch);
    int64_t next_ns = watch->slate_ns + SLATE_INTERVAL_NS;

    return first_ns > next_ns ? first_ns : next_ns;
}
