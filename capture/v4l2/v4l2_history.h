// Time and order of the buffers of a V4L2 stream, checked and mended where the driver's are wrong.
#pragma once

#include <linux/videodev2.h>
#include <stdbool.h>
#include <stdint.h>

// Starts out zeroed.
struct v4l2_history {
    bool any;
    uint32_t driver_sequence; // of the last buffer
    uint64_t sequence;        // the same, carried on where the driver's 32 bits wrap
    int64_t pts_ns;           // handed out last
};

// Takes note of one buffer in the order of arrival. Returns how many frames the driver skipped
// before it. A number that does not rise (a driver that counts nothing) is no gap.
uint64_t v4l2_history_add(struct v4l2_history *history, const struct v4l2_buffer *buffer);

// Capture time of a buffer grabbed at `now_ns` (CLOCK_MONOTONIC): the driver's timestamp when it is
// on that clock, not in the future, not older than 10 s and later than the last one; else
// `now_ns`.
int64_t v4l2_history_pts(struct v4l2_history *history, const struct v4l2_buffer *buffer,
                         int64_t now_ns);
