// The recording that is wanted of one view, as the front has told it last: the newest event of each
// region and the request of a signal from outside. Each message replaces the one before it.
#pragma once

#include "daemon/recorder/recording.h"

// Embedded. All 0: nothing is wanted.
struct wanted {
    const struct record_track *settings; // borrowed
    struct record_wanted told;
    int64_t event_until_ns; // of events that are over
};

// When what is wanted is over. INT64_MAX: it goes on.
int64_t wanted_until_ns(const struct wanted *wanted);
// Takes over what is told. `last_ns` is when the newest picture was captured; `recording` is the
// clip that is open, whose facts it adds to, or NULL. Returns where a clip is to begin that is
// asked for only now. INT64_MAX: none is.
int64_t wanted_take(struct wanted *wanted, const struct record_wanted *told, int64_t last_ns,
                    struct recording *recording);
// Takes a trigger, which is part of all that is told later.
void wanted_trigger(struct wanted *wanted, const struct record_trigger *trigger);
// The front has gone.
void wanted_forget(struct wanted *wanted);
// Says in `recording` what a clip shows that has the picture captured at `last_ns`. Its
// `wall_offset_ns` is that of its times.
void wanted_mark(const struct wanted *wanted, int64_t last_ns, struct recording *recording);
