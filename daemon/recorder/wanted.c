#include "daemon/recorder/wanted.h"

#include "config/base.h"

#include <glib.h>
#include <string.h>

static bool is_moving(const struct record_wanted *told)
{
    for (uint32_t i = 0; i < told->region_count; i++) {
        if (!told->regions[i].ended_ns)
            return true;
    }
    return false;
}

int64_t wanted_until_ns(const struct wanted *wanted)
{
    return wanted->settings->mode == RECORD_ALWAYS || is_moving(&wanted->told)
               ? INT64_MAX
               : MAX(wanted->event_until_ns, wanted->told.asked_until_ns);
}

static const struct record_motion *find_motion(const struct record_wanted *told, const char *region)
{
    for (uint32_t i = 0; i < told->region_count; i++) {
        if (strcmp(told->regions[i].region, region) == 0)
            return &told->regions[i];
    }
    return NULL;
}

// Motion in the clip began or ended at those times of CLOCK_MONOTONIC.
static void note_motion(struct recording *recording, int64_t started_ns)
{
    int64_t wall_ns = MAX(started_ns + recording->wall_offset_ns, recording->start_wall_ns);

    recording->motion_wall_ns =
        recording->motion_wall_ns ? MIN(recording->motion_wall_ns, wall_ns) : wall_ns;
}

static void note_motion_end(struct recording *recording, int64_t ended_ns)
{
    recording->motion_end_wall_ns =
        MAX(recording->motion_end_wall_ns, ended_ns + recording->wall_offset_ns);
}

// An event that was under way before may be over `now`, which is NULL if its region is not recorded
// any more.
static void end_motion(struct wanted *wanted, const struct record_motion *before,
                       const struct record_motion *now, int64_t last_ns,
                       struct recording *recording)
{
    if (before->ended_ns || (now && now->number == before->number && !now->ended_ns))
        return;
    if (!now)
        wanted->event_until_ns = MAX(wanted->event_until_ns, last_ns);
    else if (recording)
        recording->peak = MAX(recording->peak, now->peak);
    if (recording)
        note_motion_end(recording, now && now->ended_ns ? now->ended_ns : last_ns);
}

// Returns where a clip of the event is to begin. INT64_MAX: it is known already, or long over.
static int64_t take_motion(struct wanted *wanted, const struct record_motion *before,
                           const struct record_motion *now, int64_t last_ns)
{
    int64_t until_ns = now->ended_ns ? now->ended_ns + wanted->settings->after_ns : INT64_MAX;

    if (now->ended_ns)
        wanted->event_until_ns = MAX(wanted->event_until_ns, until_ns);
    return (before && before->number == now->number) || until_ns <= last_ns
               ? INT64_MAX
               : now->started_ns - wanted->settings->before_ns;
}

int64_t wanted_take(struct wanted *wanted, const struct record_wanted *told, int64_t last_ns,
                    struct recording *recording)
{
    const struct record_wanted before = wanted->told;
    int64_t asked_ns = INT64_MAX;

    if (told->number == before.number)
        return INT64_MAX;
    wanted->told = *told;
    if (told->asked_by < before.asked_by) { // the answer to the newest trigger was on its way
        wanted->told.asked_by = before.asked_by;
        wanted->told.asked_until_ns = before.asked_until_ns;
    }
    for (uint32_t i = 0; i < before.region_count; i++) {
        const struct record_motion *was = &before.regions[i];

        end_motion(wanted, was, find_motion(told, was->region), last_ns, recording);
    }
    for (uint32_t i = 0; i < told->region_count; i++) {
        const struct record_motion *now = &told->regions[i];
        int64_t begin_ns = take_motion(wanted, find_motion(&before, now->region), now, last_ns);

        asked_ns = MIN(asked_ns, begin_ns);
    }
    if (recording)
        wanted_mark(wanted, last_ns, recording);
    return asked_ns == INT64_MAX && before.asked_until_ns < wanted->told.asked_until_ns ? last_ns
                                                                                        : asked_ns;
}

void wanted_trigger(struct wanted *wanted, const struct record_trigger *trigger)
{
    wanted->told.asked_by = trigger->request;
    wanted->told.asked_until_ns =
        record_trigger_until(trigger, wanted->settings, wanted->told.asked_until_ns);
}

void wanted_forget(struct wanted *wanted)
{
    wanted->told = (struct record_wanted){0};
    wanted->event_until_ns = 0;
}

void wanted_mark(const struct wanted *wanted, int64_t last_ns, struct recording *recording)
{
    for (uint32_t i = 0; i < wanted->told.region_count; i++) {
        const struct record_motion *motion = &wanted->told.regions[i];

        if (motion->ended_ns && last_ns >= motion->ended_ns + wanted->settings->after_ns)
            continue;
        recording_add_region(recording, motion->region);
        recording->event = recording->event ? recording->event : motion->number;
        recording->peak = MAX(recording->peak, motion->peak);
        note_motion(recording, motion->started_ns);
        if (motion->ended_ns)
            note_motion_end(recording, motion->ended_ns);
    }
    if (is_moving(&wanted->told))
        recording->motion_end_wall_ns = 0;
    recording->is_triggered |= last_ns < wanted->told.asked_until_ns;
}
