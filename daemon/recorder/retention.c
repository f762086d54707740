#include "daemon/recorder/retention.h"

#include "config/base.h"

#include <sys/timex.h>
#include <time.h>

#define CLOCK_JUMP_NS (60 * NS_PER_S)

// How far the limits are exceeded.
struct retention_need {
    uint64_t excess_bytes, missing_bytes;
    int64_t oldest_ns;  // by the clock of day; what ended before is too old
    uint64_t oldest_id; // the newest of those clips; what is older is too old by any clock
};

int64_t retention_newest(const struct library *library)
{
    int64_t newest_ns = 0;

    for (guint i = 0; i < library->clips->len; i++) {
        const struct recording *recording = library->clips->pdata[i];

        newest_ns = recording->is_dated ? MAX(newest_ns, recording->end_wall_ns) : newest_ns;
    }
    return newest_ns;
}

// If a start finds all clips too old, the machine was off for all of that time, or its clock is
// wrong.
static int64_t find_oldest(const struct record_storage *limits, const struct retention_facts *facts)
{
    int64_t oldest_ns = facts->wall_ns - limits->max_age_ns;

    return !limits->max_age_ns || !facts->wall_ns || facts->found_ns < oldest_ns ? INT64_MIN
                                                                                 : oldest_ns;
}

static uint64_t less(uint64_t bytes, uint64_t by)
{
    return bytes > by ? bytes - by : 0;
}

static struct retention_need find_need(const struct library *library,
                                       const struct record_storage *limits,
                                       const struct retention_facts *facts)
{
    struct retention_need need = {.oldest_ns = find_oldest(limits, facts)};
    uint64_t floor_bytes = limits->min_free_bytes
                               ? MAX(limits->min_free_bytes, RETENTION_FREE_MIN)
                               : MAX(facts->total_bytes / 10, RETENTION_FREE_USUAL);
    uint64_t bytes = 0;

    for (guint i = 0; i < library->clips->len; i++) {
        const struct recording *recording = library->clips->pdata[i];

        bytes += recording->is_leaving ? 0 : recording_stored_bytes(recording);
        if (recording->is_dated && recording->end_wall_ns < need.oldest_ns)
            need.oldest_id = recording->id;
    }
    need.excess_bytes = limits->max_bytes ? less(bytes, limits->max_bytes) : 0;
    need.missing_bytes = less(floor_bytes, facts->free_bytes);
    return need;
}

static bool is_too_old(const struct recording *recording, const struct retention_need *need)
{
    return recording->is_dated ? recording->end_wall_ns < need->oldest_ns
                               : recording->id < need->oldest_id;
}

static bool shows_nothing_special(const struct recording *recording)
{
    return recording->is_always && !recording->is_triggered && recording->regions[0] == '\0';
}

static void choose(const struct library *library, bool ordinary, struct retention_need *need,
                   GPtrArray *chosen)
{
    for (guint i = 0; i < library->clips->len; i++) {
        struct recording *recording = library->clips->pdata[i];

        if (recording->is_open || recording->is_kept || recording->is_named_kept ||
            recording->is_leaving || recording->is_stuck ||
            shows_nothing_special(recording) != ordinary) {
            continue;
        }
        if (need->excess_bytes || need->missing_bytes || is_too_old(recording, need)) {
            uint64_t bytes = recording_stored_bytes(recording);

            need->excess_bytes = less(need->excess_bytes, bytes);
            need->missing_bytes = less(need->missing_bytes, bytes);
            g_ptr_array_add(chosen, recording);
        }
    }
}

GPtrArray *retention_choose_by(const struct library *library, const struct record_storage *limits,
                               const struct retention_facts *facts, uint64_t *ret_missing_bytes)
{
    struct retention_need need = find_need(library, limits, facts);
    GPtrArray *chosen = g_ptr_array_new();

    choose(library, true, &need, chosen);
    choose(library, false, &need, chosen);
    *ret_missing_bytes = need.missing_bytes;
    return chosen;
}

void retention_clock_look(struct retention_clock *clock, int64_t now_ns, int64_t wall_ns,
                          bool synchronized)
{
    int64_t offset_ns = wall_ns - now_ns;

    // The first time from outside may be far from what the machine began with.
    if (synchronized && clock->was_synchronized &&
        (offset_ns > clock->offset_ns + CLOCK_JUMP_NS ||
         offset_ns < clock->offset_ns - CLOCK_JUMP_NS)) {
        clock->jumped_ns = now_ns;
    }
    clock->offset_ns = offset_ns;
    clock->was_synchronized = synchronized;
}

bool retention_clock_is_good(const struct retention_clock *clock, int64_t now_ns)
{
    return clock->was_synchronized &&
           (!clock->jumped_ns || now_ns - clock->jumped_ns > RETENTION_JUMP_NS);
}

// The state of this machine
// ---------------------------------------------------------------------

void retention_look_at_clock(struct retention *retention)
{
    struct timex about = {.modes = 0};
    int state = adjtimex(&about);

    retention_clock_look(&retention->clock, clock_now_ns(), g_get_real_time() * NS_PER_US,
                         state >= 0 && state != TIME_ERROR);
}

void retention_init(struct retention *retention)
{
    *retention = (struct retention){.started_ns = clock_now_ns()};
    retention_look_at_clock(retention);
}

bool retention_knows_date(const struct retention *retention)
{
    return retention_clock_is_good(&retention->clock, clock_now_ns());
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
    bool is_new = clock_now_ns() - retention->started_ns < RETENTION_JUMP_NS;
    const struct retention_facts facts = {
        .free_bytes = retention->free_bytes,
        .total_bytes = retention->total_bytes,
        .wall_ns = retention_knows_date(retention) ? g_get_real_time() * NS_PER_US : 0,
        .found_ns = is_new ? retention->found_ns : INT64_MAX,
    };

    return retention_choose_by(library, limits, &facts, ret_missing_bytes);
}
