#include "daemon/camera/schedule.h"

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

void schedule_init(struct schedule *schedule, int64_t now_ns)
{
    *schedule = (struct schedule){.frame_ns = now_ns, .delay_ns = RETRY_FIRST_NS};
}

void schedule_rate(struct schedule *schedule, unsigned fps_numerator, unsigned fps_denominator)
{
    schedule_period(schedule, NS_PER_S * fps_denominator / fps_numerator);
}

void schedule_period(struct schedule *schedule, int64_t period_ns)
{
    schedule->period_ns = period_ns < PERIOD_LONGEST_NS ? period_ns : PERIOD_LONGEST_NS;
}

// `shortest_ns`, or more from a camera whose frames are rare.
static int64_t patience_ns(const struct schedule *schedule, int64_t shortest_ns)
{
    int64_t periods_ns = PERIODS * schedule->period_ns;

    return periods_ns > shortest_ns ? periods_ns : shortest_ns;
}

int64_t schedule_patience_ns(const struct schedule *schedule)
{
    return patience_ns(schedule, SLATE_AFTER_NS);
}

void schedule_frame(struct schedule *schedule, int64_t now_ns)
{
    schedule->frame_ns = now_ns;
}

void schedule_live(struct schedule *schedule)
{
    schedule->lost_ns = 0;
    schedule->refusals = 0;
    schedule->delay_ns = RETRY_FIRST_NS;
}

bool schedule_is_silent(const struct schedule *schedule, int64_t now_ns)
{
    return now_ns - schedule->frame_ns >= patience_ns(schedule, SILENCE_NS);
}

int64_t schedule_lose(struct schedule *schedule, int64_t now_ns)
{
    int64_t delay_ns = schedule->delay_ns;

    if (!schedule->lost_ns)
        schedule->lost_ns = now_ns;
    schedule->period_ns = 0;
    schedule->retry_ns = now_ns + delay_ns;
    schedule->delay_ns = 2 * delay_ns < RETRY_LONGEST_NS ? 2 * delay_ns : RETRY_LONGEST_NS;
    return delay_ns;
}

int64_t schedule_refuse(struct schedule *schedule, int64_t now_ns)
{
    static const int minutes[] = {1, 2, 5, 10};
    size_t last = ARRAY_LENGTH(minutes) - 1, index = schedule->refusals++;
    int64_t delay_ns = minutes[index < last ? index : last] * INT64_C(60) * NS_PER_S;

    schedule_lose(schedule, now_ns);
    schedule->delay_ns = RETRY_FIRST_NS;
    schedule->retry_ns = now_ns + delay_ns;
    return delay_ns;
}

void schedule_ask_anew(struct schedule *schedule, int64_t now_ns)
{
    schedule->refusals = 0;
    schedule->retry_ns = now_ns;
}

void schedule_hope(struct schedule *schedule, int64_t now_ns)
{
    if (schedule->hope_ns && now_ns - schedule->hope_ns < HOPE_NS)
        return;
    schedule->hope_ns = now_ns;
    schedule->retry_ns = now_ns;
    schedule->delay_ns = RETRY_FIRST_NS;
}

bool schedule_slate(struct schedule *schedule, int64_t now_ns, int64_t *ret_seconds)
{
    int64_t since_ns = schedule->lost_ns ? schedule->lost_ns : schedule->frame_ns;

    if (now_ns - schedule->frame_ns < schedule_patience_ns(schedule) ||
        now_ns - schedule->slate_ns < SLATE_INTERVAL_NS) {
        return false;
    }
    schedule->slate_ns = now_ns;
    *ret_seconds = (now_ns - since_ns) / NS_PER_S;
    return true;
}

int64_t schedule_next_slate_ns(const struct schedule *schedule)
{
    int64_t first_ns = schedule->frame_ns + schedule_patience_ns(schedule);
    int64_t next_ns = schedule->slate_ns + SLATE_INTERVAL_NS;

    return first_ns > next_ns ? first_ns : next_ns;
}
