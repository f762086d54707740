// Decides when the lane opens the source again, with back-off, and when it shows the slate, while
// frames fail to come. It only computes times, which are all CLOCK_MONOTONIC nanoseconds.
#pragma once

#include "config/base.h"

#include <stdbool.h>

struct schedule {
    int64_t frame_ns;  // when the last frame came or the source was opened
    int64_t lost_ns;   // since when there has been no signal; 0 while there is
    int64_t slate_ns;  // when the last slate was shown
    int64_t retry_ns;  // when to open the source
    int64_t delay_ns;  // from the next failure to the try after it
    int64_t hope_ns;   // of the last schedule_hope() that counted
    int64_t period_ns; // of the open source's frames; 0 while there is none
    unsigned refusals; // how often the camera has refused the login since it was asked anew
};

void schedule_init(struct schedule *schedule, int64_t now_ns);

// A source was opened that gives `fps_numerator` / `fps_denominator` frames a second, neither 0.
// The limits of 500 ms and 2 s below become three periods where that is longer, at most 60 s.
void schedule_rate(struct schedule *schedule, unsigned fps_numerator, unsigned fps_denominator);

// The same, as measured.
void schedule_period(struct schedule *schedule, int64_t period_ns);
// For how long no frame may come before a slate is shown.
int64_t schedule_patience_ns(const struct schedule *schedule);

// A source was opened, or gave a frame; its frames flow, so that the next failure is a first one.
void schedule_frame(struct schedule *schedule, int64_t now_ns);
void schedule_live(struct schedule *schedule);
// No frame has come for so long, 2 s, that the source is to be opened again.
bool schedule_is_silent(const struct schedule *schedule, int64_t now_ns);

// The source failed. Returns how long to wait for the next try: 0.1 s at first, twice the last each
// time, at most 2 s.
int64_t schedule_lose(struct schedule *schedule, int64_t now_ns);

// The camera has refused the login, and may lock the account if it is tried often. Returns how long
// to wait: 1 minute at first, then 2, 5 and from then on 10.
int64_t schedule_refuse(struct schedule *schedule, int64_t now_ns);
// The login may be another one now: the next try is now, and counts as the first.
void schedule_ask_anew(struct schedule *schedule, int64_t now_ns);
// The source may have come: it is to be opened now, and the waits begin anew. Counts once a second,
// as one that comes tells so several times.
void schedule_hope(struct schedule *schedule, int64_t now_ns);

// True, once every 200 ms, when no frame has come for 500 ms: time for a slate, which says that the
// signal was lost *ret_seconds ago.
bool schedule_slate(struct schedule *schedule, int64_t now_ns, int64_t *ret_seconds);
// When that may be true again.
int64_t schedule_next_slate_ns(const struct schedule *schedule);
