#include "daemon/recorder/retention.h"

#include "config/base.h"

#define JUMP_NS (60 * NS_PER_S)

void retention_clock_look(struct retention_clock *clock, int64_t now_ns, int64_t wall_ns,
                          bool synchronized)
{
    int64_t offset_ns = wall_ns - now_ns;

    // The first time from outside may be far from what the machine began with.
    if (synchronized && clock->was_synchronized &&
        (offset_ns > clock->offset_ns + JUMP_NS || offset_ns < clock->offset_ns - JUMP_NS)) {
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

// What is too much.
struct retention_need {
    uint64_t excess_bytes, missing_bytes;
    int64_t oldest_ns; // by the clock of day; what ended before is too old
};

// If all clips are too old at a start, the machine was off for all of that time, or its clock is
// wrong.
static int64_t find_oldest(const struct library *library, const struct record_storage *limits,
                           const struct retention_facts *facts)
{
    int64_t newest_ns = 0;

    if (!limits->max_age_ns || !facts->wall_ns) {
        return INT64_MIN;
    }
    for (guint i = 0; i < library->clips->len; i++) {
        const struct recording *recording = library->clips->pdata[i];

        newest_ns = MAX(newest_ns, recording->end_wall_ns);
    }
    int64_t oldest_ns = facts->wall_ns - limits->max_age_ns;
    return facts->is_new && newest_ns < oldest_ns ? INT64_MIN : oldest_ns;
}

static struct retention_need find_need(const struct library *library,
                                       const struct record_storage *limits,
                                       const struct retention_facts *facts)
{
    uint64_t floor_bytes = MAX(limits->min_free_bytes, RETENTION_FREE_MIN), bytes = 0;

    for (guint i = 0; i < library->clips->len; i++) {
        const struct recording *recording = library->clips->pdata[i];

        bytes += recording->is_leaving ? 0 : recording->bytes;
    }
    return (struct retention_need){
        .excess_bytes =
            limits->max_bytes && bytes > limits->max_bytes ? bytes - limits->max_bytes : 0,
        .missing_bytes = facts->free_bytes < floor_bytes ? floor_bytes - facts->free_bytes : 0,
        .oldest_ns = find_oldest(library, limits, facts),
    };
}

static uint64_t less(uint64_t bytes, uint64_t by)
{
    return bytes > by ? bytes - by : 0;
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

        if (recording->is_open || recording->is_kept || recording->is_leaving ||
            shows_nothing_special(recording) != ordinary) {
            continue;
        }
        if (need->excess_bytes || need->missing_bytes || recording->end_wall_ns < need->oldest_ns) {
            need->excess_bytes = less(need->excess_bytes, recording->bytes);
            need->missing_bytes = less(need->missing_bytes, recording->bytes);
            g_ptr_array_add(chosen, recording);
        }
    }
}

GPtrArray *retention_choose(const struct library *library, const struct record_storage *limits,
                            const struct retention_facts *facts, uint64_t *ret_missing_bytes)
{
    struct retention_need need = find_need(library, limits, facts);
    GPtrArray *chosen = g_ptr_array_new();

    choose(library, true, &need, chosen);
    choose(library, false, &need, chosen);
    *ret_missing_bytes = need.missing_bytes;
    return chosen;
}
