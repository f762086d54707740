// How regularly a camera's pictures come, to tell a pause from silence.
//
// Cameras in the network pause between bursts, and networks have hiccups. So the longest pause of
// the last 30 to 60 s counts as the period of the pictures.
#pragma once

#include "config/base.h"

// Bursts may be that far apart; a longer pause is no period, unless all are.
#define RHYTHM_BURST_NS (3 * NS_PER_S)

// The period of a camera that is new, so that its first pause between two bursts is no silence.
#define RHYTHM_FIRST_NS (1200 * NS_PER_MS)

// Embedded; begins zeroed.
struct rhythm {
    int64_t first_ns; // when the first picture came; 0: none has
    int64_t came_ns;  // when the last one came
    int64_t mean_ns;  // from picture to picture; 0: until two have come
    // The longest pause since then, and that of the window before.
    int64_t window_ns, longest_ns, longest_before_ns;
};

// A picture came at `now_ns`, CLOCK_MONOTONIC.
void rhythm_note(struct rhythm *rhythm, int64_t now_ns);

// The longest pause of late, up to RHYTHM_BURST_NS, or the mean one where that is longer; at least
// 350 ms, and RHYTHM_FIRST_NS while the camera is new. 0: unknown, until two pictures have come.
int64_t rhythm_period_ns(const struct rhythm *rhythm);
