// A summary of all clips for a timeline: a lane for each view, which says of each step of a span of
// time whether there is footage of it, and whether it shows motion. Thus nobody has to load a list
// of all clips to draw a month.
//
// It is made of the list in memory, at one look at each clip. Main loop only.
#pragma once

#include "daemon/recorder/library.h"

// One lane. `steps` has a byte for each step and then one for each day of the question, an enum
// record_step.
struct timeline_lane {
    const char *camera, *view; // interned
    uint8_t steps[];
};

// Whether such a question can be answered: its numbers are within their limits, and none of its
// times is later than int64_t holds.
bool timeline_can_answer(const struct record_timeline *question);
// The lanes of all views that have clips, those with the newest clips first, RECORD_LANES_MAX at
// most. `question` is one that can be answered. A clip that is being deleted does not count. The
// caller g_ptr_array_unref()s the array, which owns its struct timeline_lane.
GPtrArray *timeline_make(const struct library *library, const struct record_timeline *question);
