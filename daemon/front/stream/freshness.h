// Notices when frames that should keep coming have stopped. Not thread-safe.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Embedded; all times are CLOCK_MONOTONIC.
struct freshness {
    int64_t last_ns;            // of the last frame, or of the start
    int64_t interval_ns;        // between the last two frames; 0: unknown
    int64_t interval_before_ns; // between the two before
    bool starting;              // no frame since the start
};

// Frames are expected from now on.
void freshness_start(struct freshness *freshness, int64_t now_ns);
// A frame came.
void freshness_note(struct freshness *freshness, int64_t now_ns);
// How long the next frame may still take; 0 or less when it is overdue. Frames may be 700 ms apart,
// those of a slower camera three times as far as the last two, at most 60 s. One interval of 1.5 s
// or more does not make a slow camera, two in a row do.
int64_t freshness_left_ns(const struct freshness *freshness, int64_t now_ns);
