// A motion event, the beginning or end of motion in a region, as the front writes it to the journal
// and to those who follow /v1/events.
#pragma once

#include "config/config.h"
#include "daemon/link/messages.h"

#include <json-glib/json-glib.h>
#include <stdint.h>

enum motion_kind {
    MOTION_STARTED,
    MOTION_ENDED,
    MOTION_KIND_COUNT,
};

// Why it ended. All but the first are set by the front, so that nobody waits for an end that no
// camera process will send.
enum motion_reason {
    MOTION_STILL,         // nothing moves any more
    MOTION_NO_SIGNAL,     // the camera has no picture
    MOTION_PROCESS_ENDED, // the camera process is gone, or is ended for hanging
    MOTION_LOST,          // its end was lost, because the front had not read for long
    MOTION_RECONFIGURED,  // the camera has other settings now, or was removed
    MOTION_STOPPING,      // edged ends
    MOTION_REASON_COUNT,
};

struct motion_event {
    enum motion_kind kind;
    enum motion_reason reason; // of an end
    char camera[40], region[40];
    enum config_role role; // the least that may watch a view of the camera; set by the front
    uint64_t number;       // of the event in its region, from 1 on, since edged was started
    int64_t started_ns;    // CLOCK_MONOTONIC: pts of the first moving frame
    int64_t at_ns;         // CLOCK_MONOTONIC: pts of the frame that decided, or when the front did
    int64_t wall_ns;       // at_ns by the clock of day, since 1970
    double share;          // of the region that moves, 0..1, at at_ns
    double peak;           // the largest share up to then
    uint64_t clip;         // that shows it, and is being written; 0: none. Set by the front
    struct link_box box;
};

const char *motion_kind_name(enum motion_kind kind);       // "motion_started", "motion_ended"
const char *motion_reason_name(enum motion_reason reason); // "still", "no-signal", …

// One JSON object on one line, without a line end; documented in edged(8). The caller g_free()s it.
char *motion_json(const struct motion_event *event);
// Adds only its members, or only the member "box", to the object that `builder` is writing.
void motion_add_members(JsonBuilder *builder, const struct motion_event *event);
void motion_add_box(JsonBuilder *builder, const struct link_box *box);
// One message with its fields.
void motion_log(const struct motion_event *event);
