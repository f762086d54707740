// A GStreamer pipeline that ends in edged: shared by all sources that have one.
//
// The pipeline's streaming threads put samples and what the bus says into a queue; the lane thread
// waits on it. The intake answers upstream's ALLOCATION query with a pool over our frames. All
// functions are for the lane thread.
//
// How many samples may wait, and what becomes of more, is the order of the queue (sample_queue.h).
#pragma once

#include "capture/gstreamer/sample_queue.h"
#include "capture/source.h"

#include <gst/gst.h>

#define INTAKE_OPEN_TIMEOUT_NS (5 * NS_PER_S)

struct intake;

// The end of a wait. A sample comes before the end or the failure that followed it.
enum intake_event {
    INTAKE_TIMEOUT,
    INTAKE_SAMPLE,
    INTAKE_SEGMENT_DONE, // a segment seek has been read to its end; reported once
    INTAKE_EOS,
    INTAKE_FAILED,
};

// Parses `fragment` and appends the sink, which takes `caps` (not kept). The environment must
// outlive the intake; without an allocator in it, frames are not lent. -EINVAL with the parser's
// text, -ENOMEM.
int intake_new(const char *fragment, const GstCaps *caps, enum intake_order order,
               const struct source_environment *environment, struct error *error,
               struct intake **ret_intake);
// Takes NULL. Frames that are out stay valid.
void intake_free(struct intake *intake);

static inline void cleanup_intake(struct intake **intake)
{
    intake_free(*intake);
}

// The pipeline, to look up elements in. Owned by the intake.
GstElement *intake_pipeline(struct intake *intake);

// Brings the pipeline to where its format is known, in PAUSED, or PLAYING when it is live, and
// fills layout and rate of `mode`. Waits at most INTAKE_OPEN_TIMEOUT_NS: -ETIMEDOUT, -EPIPE and
// -EACCES (as intake_failure()), -EINVAL (nothing in a format we know comes out), -ENODATA (it
// ended). After -ETIMEDOUT it may be played all the same: its first sample then settles layout and
// rate of the source's mode.
int intake_open(struct intake *intake, struct source_mode *mode, struct error *error);
// After intake_open().
bool intake_has_square_pixels(const struct intake *intake);
// Before intake_open(): samples hold surfaces, which the environment's `surfaces` adopt. -ENOMEM.
int intake_expect_surfaces(struct intake *intake, struct error *error);
// After intake_open(), where surfaces are expected: waits for the first, and lays out `mode` as it
// is. -EPROTO and others: it cannot be adopted; -ETIMEDOUT, -EPIPE.
int intake_measure_surface(struct intake *intake, struct source_mode *mode, struct error *error);
// Whether intake_take() has failed because a surface could not be adopted.
bool intake_surface_failed(const struct intake *intake);
// Lets frames flow; those that came before are forgotten, unless they are held back.
void intake_play(struct intake *intake);
// Stops the pipeline and forgets all news, so that intake_play() plays it from its beginning.
void intake_stop(struct intake *intake);

// Has what is read in order read from its beginning as a segment, before it plays. False if it
// cannot be read so; what was read before may be lost then.
bool intake_begin_segment(struct intake *intake);
// The same once more, without a gap, after INTAKE_SEGMENT_DONE. Pictures come meanwhile: the thread
// that asks for it waits for room in the queue. intake_stop() and intake_free() wait for it.
void intake_repeat_segment(struct intake *intake);

// Waits until something is there or CLOCK_MONOTONIC is past `deadline_ns`.
enum intake_event intake_wait(struct intake *intake, int64_t deadline_ns);
// After INTAKE_FAILED: sets `error` to the text of the pipeline and returns -EPIPE; -EINVAL when
// the formats there and here did not meet, -EACCES when a server refused the user or the password.
int intake_failure(struct intake *intake, struct error *error);
// As sample_queue_in_order_until_ns().
int64_t intake_in_order_until_ns(struct intake *intake);

// After INTAKE_SAMPLE: takes the sample as a frame of `source`, in its own memory or as a counted
// copy. Capture time, grab time and sequence are filled in, and the counters of `source` count. Of
// INTAKE_EVERY the capture time is that in the file, or -1; where samples come in order it
// only grows, up to the grab time.
// -EAGAIN: it had to be dropped; -EPIPE: it has not the layout of source->mode any more.
int intake_take(struct intake *intake, struct source *source, struct error *error,
                struct frame **ret_frame);
// The same sample as it is, instead: whatever its layout, damaged or not. The caller owns it.
GstSample *intake_take_sample(struct intake *intake);
// Copies `shown`, which intake_take() has given, into a frame captured and grabbed now, and counts
// the copy. -ENOMEM; -ENOBUFS: all are in use.
int intake_repeat(struct intake *intake, const struct frame *shown, struct frame **ret_frame);
