// The regions of one camera, over all of its processes: what moves, and counts that no restart
// resets. Turns the messages of the processes into events that come in pairs. Main loop only.
//
// A process that loses its signal, ends or is reconfigured sends no end for what moved, so the
// front makes one. If the process sends one after all, it is known by its started_ns. A region that
// telemetry does not name any more has been taken out of the configuration.
#pragma once

#include "daemon/front/events/motion.h"
#include "daemon/link/messages.h"

#include <stdbool.h>
#include <stddef.h>

struct region {
    char name[40];
    bool shown;          // the newest configuration has it, as far as is known
    bool moving;         // an event is under way
    uint64_t events;     // begun since edged was started
    int64_t started_ns;  // of the last one; -1: none yet
    double peak;         // of the last one
    double share;        // as it is now
    struct link_box box; // the same
};

// Called for each event, in order. `event` is valid only during the call.
typedef void regions_event(void *context, const struct motion_event *event);

struct regions {
    char camera[40];
    regions_event *event;
    void *context;
    struct region list[LINK_REGIONS_MAX];
    size_t count;
};

// No regions yet; there is nothing to finish. `event` may be NULL.
void regions_init(struct regions *regions, const char *camera, regions_event *event, void *context);

// Takes an event, or telemetry, of the process; camera_link.c has checked both. Those about a
// region too many for a camera are left out: after a reload that renames regions an event of a new
// one may come before the telemetry that tells which are gone. Its beginning is told with its end.
void regions_take_event(struct regions *regions, const struct link_event *event);
void regions_take_telemetry(struct regions *regions, const struct link_telemetry *telemetry);

// Ends what moves, as when the process is gone; the regions show no motion.
void regions_end_all(struct regions *regions, enum motion_reason reason);
// The same, and the regions are shown again only when the next process knows them.
void regions_reconfigure(struct regions *regions);
