// Makes frames of GStreamer's samples.
#pragma once

#include "capture/copies.h"
#include "capture/frame_pool.h"

#include <gst/gst.h>

// Copies the picture of `sample`, counted, into a frame of `frames`, whose layout it must have but
// for strides and offsets. -ENOBUFS: no frame is free; -EBADMSG: the sample holds no whole picture.
int gstreamer_frame_copy(GstSample *sample, struct frame_pool *frames, struct copies *copies,
                         struct frame **ret_frame);

// When the picture of `sample` was captured, CLOCK_MONOTONIC, for a pipeline that runs on that
// clock since `base_time_ns`; `fallback_ns` for one without a time stamp.
int64_t gstreamer_frame_pts(GstSample *sample, int64_t base_time_ns, int64_t fallback_ns);
// The time of the picture in its file; -1 for one without a time stamp.
int64_t gstreamer_frame_clip_ns(GstSample *sample);
// The time in its file at which its video ends, or the part of that which an edit list names; -1:
// the file does not say.
int64_t gstreamer_frame_clip_end_ns(GstSample *sample);
