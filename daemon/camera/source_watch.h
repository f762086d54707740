// Decides when the lane opens the source again, with back-off, and when it shows the slate, while
// frames fail to come. It only computes times, which are all CLOCK_MONOTONIC nanoseconds.
#pragma once

#include "config/base.h"

#include <stdbool.h>

struct source_watch {
    int64_t frame_ns;  // when the last frame came or the source was opened
    int64_t lost_ns;   // since when there has been no signal; 0 while there is
    int64_t slate_ns;  // when the last slate was shown
    int64_t retry_ns;  // when to open the source
    int64_t delay_ns;  // from the next failure to the try after it
    int64_t came_ns;   // of the last source_watch_device_came() that counted
    int64_t period_ns; // of the open source's frames; 0 while there is none
    unsigned refusals; // how often the camera has refused the login since it was asked anew
};

void source_watch_init(struct source_watch *watch, int64_t now_ns);

// A source was opened that gives `fps_numerator` / `fps_denominator` frames a second, neither 0.
// The limits of 500 ms and 2 s below become three periods where that is longer, at most 60 s.
void source_watch_rate(struct source_watch *watch, unsigned fps_numerator,
                       unsigned fps_denominator);

// The same, as measured.
void source_watch_period(struct source_watch *watch, int64_t period_ns);
// For how long no frame may come before a slate is shown.
int64_t source_watch_patience_ns(const struct source_watch *watch);

// A source was opened, or gave a frame.
void source_watch_frame(struct source_watch *watch, int64_t now_ns);
// Frames flow: the next failure counts as the first.
void source_watch_live(struct source_watch *watch);
// No frame has come for so long, 2 s, that the source is to be opened again.
bool source_watch_is_silent(const struct source_watch *watch, int64_t now_ns);

// The source failed. Returns how long to wait for the next try: 0.1 s at first, twice the last each
// time, at most 2 s.
int64_t source_watch_lose(struct source_watch *watch, int64_t now_ns);

// The camera has refused the login, and may lock the account if it is tried often. Returns how long
// to wait: 1 minute at first, then 2, 5 and from then on 10.
int64_t source_watch_refuse(struct source_watch *watch, int64_t now_ns);
// The login may be another one now: the next try is now, and counts as the first.
void source_watch_ask_anew(struct source_watch *watch, int64_t now_ns);
// A device came, which may be the source: it is to be opened now, and the waits begin anew. Counts
// once a second, because one device sends several notices.
void source_watch_device_came(struct source_watch *watch, int64_t now_ns);

// True, once every 200 ms, when no frame has come for 500 ms: time for a slate, which says that the
// signal was lost *ret_seconds ago.
bool source_watch_slate(struct source_watch *watch, int64_t now_ns, int64_t *ret_seconds);
// When that may be true again.
int64_t source_watch_next_slate_ns(const struct source_watch *watch);
