// One appsrc that a stream feeds: the start of the pipeline of one RTSP media.
//
// An outlet lets nothing through until it has seen a key frame, gives every buffer a time stamp
// that only grows, and drops up to the next key frame when its reader does not keep up. It has no
// lock: the stream that owns it serializes the calls.
#pragma once

#include <gst/app/gstappsrc.h>
#include <stdbool.h>
#include <stdint.h>

struct outlet;

// What is pushed: the memory is shared between outlets, never copied.
struct outlet_frame {
    GstMemory *memory; // Annex B bytes of one access unit; the outlet takes its own reference
    int64_t pts_ns;    // CLOCK_MONOTONIC
    bool key_frame;
    bool slate; // what follows it does not refer to it, so that the next frame must be a key frame
};

// Takes a reference to `source`. `base_ns` is the base time of its pipeline (CLOCK_MONOTONIC).
// It starts out held: nobody plays. 0 or -ENOMEM.
int outlet_new(GstAppSrc *source, int64_t base_ns, struct outlet **ret_outlet);
// Takes NULL.
void outlet_free(struct outlet *outlet);

// Bounds what waits in the pipeline; 0 at first.
void outlet_set_limit(struct outlet *outlet, size_t limit_bytes);
// Hands a frame to the pipeline. 0: pushed. -EAGAIN: dropped, a key frame has to come first.
// -ENOBUFS: dropped because too much waits (`limit_bytes`, or frames have waited for 2 s; 0.3 s
// while nobody plays, so that a viewer begins with the present); a key frame has to come next.
// -EPIPE: the pipeline takes no more.
int outlet_push(struct outlet *outlet, const struct outlet_frame *frame);
// Somebody plays what comes out, or nobody does (the pipeline holds everything back).
void outlet_set_playing(struct outlet *outlet, bool playing);
bool outlet_is_playing(const struct outlet *outlet);
// The frames that follow do not continue those before: wait for a key frame.
void outlet_discontinue(struct outlet *outlet);

// Something was pushed: DESCRIBE can be answered.
bool outlet_is_primed(const struct outlet *outlet);
// A key frame has to come next.
bool outlet_is_waiting(const struct outlet *outlet);
GstAppSrc *outlet_source(const struct outlet *outlet);
