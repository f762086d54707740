#include "daemon/recorder/retention.h"

#include "config/base.h"

#include <sys/timex.h>
#include <time.h>

void retention_look_at_clock(struct retention *retention)
{
    struct timex about = {.modes = 0};
    int state = adjtimex(&about);

    library_clock_look(&retention->clock, clock_now_ns(), g_get_real_time() * NS_PER_US,
                       state >= 0 && state != TIME_ERROR);
}

void retention_init(struct retention *retention)
{
    *retention = (struct retention){.started_ns = clock_now_ns()};
    retention_look_at_clock(retention);
}

bool retention_knows_date(const struct retention *retention)
{
    return library_clock_is_good(&retention->clock, clock_now_ns());
}

int64_t retention_wall_offset_ns(void)
{
    struct timespec boot;

    clock_gettime(CLOCK_BOOTTIME, &boot);
    return g_get_real_time() * NS_PER_US - boot.tv_sec * NS_PER_S - boot.tv_nsec;
}

GPtrArray *retention_choose(const struct retention *retention, const struct library *library,
                            const struct record_storage *limits, uint64_t *ret_missing_bytes)
{
    bool is_new = clock_now_ns() - retention->started_ns < LIBRARY_JUMP_NS;
    const struct library_facts facts = {
        .free_bytes = retention->free_bytes,
        .total_bytes = retention->total_bytes,
        .wall_ns = retention_knows_date(retention) ? g_get_real_time() * NS_PER_US : 0,
        .found_ns = is_new ? retention->found_ns : INT64_MAX,
    };

    return library_choose(library, limits, &facts, ret_missing_bytes);
}
