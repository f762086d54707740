#include "daemon/front/supervise/backoff.h"

#include "config/base.h"

#define BACKOFF_FIRST_MS 100u
#define BACKOFF_LAST_MS 5000u
#define BACKOFF_HEALTHY_NS (5 * NS_PER_S)

unsigned backoff_advance_ms(struct backoff *backoff, int64_t healthy_ns)
{
    unsigned delay_ms = healthy_ns >= BACKOFF_HEALTHY_NS ? 0 : backoff->next_ms;
    unsigned next_ms = delay_ms ? 2 * delay_ms : BACKOFF_FIRST_MS;

    backoff->next_ms = next_ms < BACKOFF_LAST_MS ? next_ms : BACKOFF_LAST_MS;
    return delay_ms;
}
