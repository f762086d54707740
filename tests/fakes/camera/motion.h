// Motion of the fake camera: what it says of its regions, right and wrong, by $FAKE_CAMERA:
//
//   motion        has the regions "door" and "yard"; SIGUSR1 begins motion in the door, the next
//                 ends it; SIGUSR2 loses the signal, and ends what the front has ended for that
//   bad-motion-X  SIGUSR1 sends an event with X wrong, see send_bad_motion()
#pragma once

#include "daemon/link/link.h"

#include <glib.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define MOTION_MODE "motion"
#define BAD_MOTION_MODE "bad-motion-"

struct fake_motion {
    bool moving;
    int64_t started_ns;
};

static inline void fill_region(const struct fake_motion *motion, struct link_region *region)
{
    *region = (struct link_region){.name = "door"};
    if (motion->moving) {
        region->moving = 1;
        region->share = 0.25f;
        region->box = (struct link_box){8, 16, 64, 48};
    }
}

static inline void fill_regions(const struct fake_motion *motion, struct link_telemetry *telemetry)
{
    fill_region(motion, &telemetry->regions[0]);
    strcpy(telemetry->regions[1].name, "yard");
}

// Begins an event, or ends the one that is under way.
static inline void toggle_motion(struct fake_motion *motion, struct link *link)
{
    struct link_event event = {.peak_share = 0.5f, .at_ns = clock_now_ns()};

    motion->moving = !motion->moving;
    event.kind = motion->moving ? LINK_EVENT_MOTION_STARTED : LINK_EVENT_MOTION_ENDED;
    if (motion->moving)
        motion->started_ns = event.at_ns - 500 * NS_PER_MS;
    event.started_ns = motion->started_ns;
    fill_region(motion, &event.region);
    link_send_bytes(link, LINK_EVENT, 0, &event, sizeof event);
}

static inline void end_motion(struct fake_motion *motion, struct link *link)
{
    if (motion->moving)
        toggle_motion(motion, link);
}

// Telemetry with a region that is wrong.
static inline void send_bad_telemetry(const char *what, struct link *link)
{
    struct link_telemetry telemetry = {.state = LINK_CAMERA_LIVE,
                                       .regions = {[7] = {.name = "door"}}};

    if (strcmp(what, "telemetry-name") == 0)
        strcpy(telemetry.regions[7].name, "../door");
    else if (strcmp(what, "telemetry-share") == 0)
        telemetry.regions[7].share = 1.5f;
    link_send_bytes(link, LINK_TELEMETRY, 0, &telemetry, sizeof telemetry);
}

// An event with one thing wrong, which `mode` names.
static inline void send_bad_motion(const char *mode, struct link *link)
{
    const char *what = mode + strlen(BAD_MOTION_MODE);
    struct link_event event = {.at_ns = clock_now_ns(), .region.name = "door"};
    size_t size = sizeof event;

    if (strcmp(what, "name") == 0)
        strcpy(event.region.name, "do\"or\n");
    else if (strcmp(what, "endless-name") == 0)
        memset(event.region.name, 'x', sizeof event.region.name);
    else if (strcmp(what, "no-name") == 0)
        event.region.name[0] = 0;
    else if (strcmp(what, "kind") == 0)
        event.kind = 2;
    else if (strcmp(what, "share") == 0)
        event.region.share = NAN;
    else if (strcmp(what, "peak") == 0)
        event.peak_share = -1;
    else if (strcmp(what, "time") == 0)
        event.started_ns = event.at_ns + 1;
    else if (strcmp(what, "future") == 0)
        event.at_ns += 3600 * NS_PER_S;
    else if (strcmp(what, "size") == 0)
        size--;
    if (g_str_has_prefix(what, "telemetry"))
        send_bad_telemetry(what, link);
    else
        link_send_bytes(link, LINK_EVENT, 0, &event, size);
}

// Sends the messages that SIGUSR1 asks for in `mode`.
static inline void change_motion(struct fake_motion *motion, const char *mode, struct link *link)
{
    if (strcmp(mode, MOTION_MODE) == 0)
        toggle_motion(motion, link);
    else if (g_str_has_prefix(mode, BAD_MOTION_MODE))
        send_bad_motion(mode, link);
}
