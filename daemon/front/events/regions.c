#include "daemon/front/events/regions.h"

#include "config/base.h"

#include <stdio.h>
#include <string.h>

void regions_init(struct regions *regions, const char *camera, regions_event *event, void *context)
{
    *regions = (struct regions){.event = event, .context = context};
    snprintf(regions->camera, sizeof regions->camera, "%s", camera);
}

// The place for a new region: an unused one, or that of a region no longer shown. NULL: none is
// free.
static struct region *find_place(struct regions *regions)
{
    if (regions->count < LINK_REGIONS_MAX)
        return &regions->list[regions->count++];
    for (size_t i = 0; i < regions->count; i++) {
        if (!regions->list[i].shown)
            return &regions->list[i];
    }
    return NULL;
}

// The region called `name`, which is added if it is new. NULL: there is no place for one more.
static struct region *find_region(struct regions *regions, const char *name)
{
    struct region *region = NULL;

    for (size_t i = 0; i < regions->count; i++) {
        if (strcmp(regions->list[i].name, name) == 0)
            region = &regions->list[i];
    }
    if (!region) {
        region = find_place(regions);
        if (!region)
            return NULL;
        *region = (struct region){.started_ns = -1};
        snprintf(region->name, sizeof region->name, "%s", name);
    }
    region->shown = true;
    return region;
}

static int64_t wall_of(int64_t monotonic_ns)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec - (clock_now_ns() - monotonic_ns);
}

static void tell(const struct regions *regions, const struct region *region, enum motion_kind kind,
                 enum motion_reason reason, int64_t at_ns)
{
    struct motion_event event = {
        .kind = kind,
        .reason = reason,
        .number = region->events,
        .started_ns = region->started_ns,
        .at_ns = at_ns,
        .wall_ns = wall_of(at_ns),
        .share = region->share,
        .peak = region->peak,
        .box = region->box,
    };

    snprintf(event.camera, sizeof event.camera, "%s", regions->camera);
    snprintf(event.region, sizeof event.region, "%s", region->name);
    if (regions->event)
        regions->event(regions->context, &event);
}

static void set_now(struct region *region, const struct link_region *now)
{
    region->share = now->share;
    region->box = now->box;
    if (region->moving && region->peak < region->share)
        region->peak = region->share;
}

static void start(const struct regions *regions, struct region *region,
                  const struct link_event *event)
{
    region->moving = true;
    region->events++;
    region->started_ns = event->started_ns;
    region->peak = event->peak_share;
    set_now(region, &event->region);
    tell(regions, region, MOTION_STARTED, MOTION_STILL, event->at_ns);
}

static void end(const struct regions *regions, struct region *region, enum motion_reason reason,
                int64_t at_ns)
{
    region->moving = false;
    tell(regions, region, MOTION_ENDED, reason,
         at_ns < region->started_ns ? region->started_ns : at_ns);
}

void regions_take_event(struct regions *regions, const struct link_event *event)
{
    struct region *region = find_region(regions, event->region.name);

    if (!region)
        return;
    bool known = event->started_ns == region->started_ns;
    if (known && !region->moving) {
        return; // the end of an event that the front has ended already
    }
    // The end was not told: a signal was lost and is back before telemetry could say so.
    if (!known && region->moving)
        end(regions, region, MOTION_LOST, event->started_ns);
    if (!region->moving)
        start(regions, region, event);
    if (event->kind == LINK_EVENT_MOTION_ENDED) {
        region->peak = event->peak_share;
        set_now(region, &event->region);
        end(regions, region, MOTION_STILL, event->at_ns);
    }
}

static void take_region(struct regions *regions, const struct link_region *now)
{
    struct region *region = find_region(regions, now->name);

    if (region)
        set_now(region, now);
}

void regions_end_all(struct regions *regions, enum motion_reason reason)
{
    for (size_t i = 0; i < regions->count; i++) {
        struct region *region = &regions->list[i];

        region->share = 0;
        region->box = (struct link_box){0};
        if (region->moving)
            end(regions, region, reason, clock_now_ns());
    }
}

static bool is_told(const struct link_telemetry *telemetry, const char *name)
{
    for (size_t i = 0; i < LINK_REGIONS_MAX; i++) {
        if (strcmp(telemetry->regions[i].name, name) == 0)
            return true;
    }
    return false;
}

static void hide(const struct regions *regions, struct region *region)
{
    region->share = 0;
    region->box = (struct link_box){0};
    if (region->moving)
        end(regions, region, MOTION_RECONFIGURED, clock_now_ns());
    region->shown = false;
}

void regions_take_telemetry(struct regions *regions, const struct link_telemetry *telemetry)
{
    for (size_t i = 0; i < regions->count; i++) {
        if (regions->list[i].shown && !is_told(telemetry, regions->list[i].name))
            hide(regions, &regions->list[i]);
    }
    for (size_t i = 0; i < LINK_REGIONS_MAX; i++) {
        if (telemetry->regions[i].name[0])
            take_region(regions, &telemetry->regions[i]);
    }
    if (telemetry->state == LINK_CAMERA_NO_SIGNAL)
        regions_end_all(regions, MOTION_NO_SIGNAL);
}

void regions_reconfigure(struct regions *regions)
{
    regions_end_all(regions, MOTION_RECONFIGURED);
    for (size_t i = 0; i < regions->count; i++)
        regions->list[i].shown = false;
}
