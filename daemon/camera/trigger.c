#include "daemon/camera/trigger.h"

#include "config/base.h"

#include <stdio.h>

void trigger_init(struct trigger *trigger, const struct config_region *settings)
{
    *trigger = (struct trigger){.last_ns = INT64_MIN};
    snprintf(trigger->region.name, sizeof trigger->region.name, "%s", settings->name);
    trigger_set(trigger, settings);
}

void trigger_set(struct trigger *trigger, const struct config_region *settings)
{
    trigger->start = settings->start / 100;
    trigger->end = settings->end / 100;
    trigger->duration_ns = (int64_t)(settings->duration_s * (double)NS_PER_S);
    trigger->cooldown_ns = (int64_t)(settings->cooldown_s * (double)NS_PER_S);
}

static void fill_event(const struct trigger *trigger, struct link_event *ret_event)
{
    *ret_event = (struct link_event){
        .kind = trigger->region.moving ? LINK_EVENT_MOTION_STARTED : LINK_EVENT_MOTION_ENDED,
        .started_ns = trigger->started_ns,
        .at_ns = trigger->last_ns,
        .peak_share = trigger->peak_share,
        .region = trigger->region,
    };
}

// Whether `holds` has been true in every frame for `length_ns`, up to this one.
static bool has_held(struct trigger *trigger, bool holds, int64_t length_ns)
{
    if (holds && !trigger->waiting) {
        trigger->waiting_ns = trigger->last_ns;
    }
    trigger->waiting = holds;
    return holds && trigger->last_ns - trigger->waiting_ns >= length_ns;
}

static bool begins(struct trigger *trigger, double share)
{
    bool first = !trigger->waiting;
    bool holds = has_held(trigger, share >= trigger->start, trigger->duration_ns);

    if (trigger->waiting) {
        trigger->peak_share = first || trigger->region.share > trigger->peak_share
                                  ? trigger->region.share
                                  : trigger->peak_share;
        trigger->started_ns = trigger->waiting_ns;
    }
    return holds;
}

static bool ends(struct trigger *trigger, double share)
{
    if (trigger->region.share > trigger->peak_share) {
        trigger->peak_share = trigger->region.share;
    }
    return has_held(trigger, share < trigger->end, trigger->cooldown_ns);
}

static void set_reading(struct link_region *region, const struct region_reading *reading,
                        double share)
{
    region->box = (struct link_box){reading->x, reading->y, reading->width, reading->height};
    region->share = (float)share;
}

bool trigger_step(struct trigger *trigger, int64_t pts_ns, const struct region_reading *reading,
                  struct link_event *ret_event)
{
    struct link_region *region = &trigger->region;
    double share = reading->pixels ? (double)reading->moving / reading->pixels : 0;

    if (pts_ns < trigger->last_ns) {
        trigger->waiting = false;
    }
    trigger->last_ns = pts_ns;
    set_reading(region, reading, share);
    if (!(region->moving ? ends(trigger, share) : begins(trigger, share))) {
        return false;
    }
    trigger->waiting = false;
    region->moving = !region->moving;
    fill_event(trigger, ret_event);
    return true;
}

void trigger_reset(struct trigger *trigger)
{
    set_reading(&trigger->region, &(struct region_reading){0}, 0);
    trigger->region.moving = false;
    trigger->waiting = false;
}
