// When a network camera captured its pictures.
//
// RTP's time stamps have the camera's distances, on a clock of its own. A picture comes after it
// was captured: by a little, or by seconds where the camera sends in bursts. So the least distance
// from stamp to arrival, over the last 5 to 10 s, fits the camera's clock to CLOCK_MONOTONIC. An
// earlier picture than expected corrects the fit at once; a fit that has become too early is
// stretched by a quarter of the distance of pictures. Stamps that do not run at 90 kHz are not
// believed.
//
// The pictures of the first burst are dated as they come: nothing tells when they were captured.
#pragma once

#include "config/base.h"

#include <stdbool.h>
#include <stdint.h>

// Embedded; begins zeroed.
struct rtp_clock {
    bool begun;
    bool astray;    // the stamps do not run at 90 kHz
    bool slow;      // in the window before, they ran too slow
    uint32_t stamp; // of the last picture
    int64_t ticks;  // the same without its wraps, from the picture on that the fit began with
    int64_t captured_ns;
    int64_t offset_ns; // from the camera's clock to ours
    // A window, with the ticks when it began, its least offset, and that of the window before.
    int64_t window_ns, window_ticks, least_ns, least_before_ns;
};

// A packet with the time stamp `stamp` came at `now_ns`, CLOCK_MONOTONIC. Packets of one picture
// have one stamp. Returns whether a picture begins with it. Sets `captured_ns`, which may be before
// that of the last picture.
bool rtp_clock_note(struct rtp_clock *clock, uint32_t stamp, int64_t now_ns);
