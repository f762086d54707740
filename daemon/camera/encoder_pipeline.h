// The GStreamer side of an encoder: one element between a pad that frames are pushed into and an
// appsink that access units come out of. No queue, no clock, no thread of its own.
#pragma once

#include "daemon/camera/encoder_elements.h"

#include <gst/app/gstappsink.h>
#include <stdatomic.h>

struct encoder_pipeline {
    const struct encoder_element *element;
    const struct encoder_way *way; // of the element
    GstElement *pipeline;          // owned
    GstElement *encoder;           // the element in it, a reference
    GstElement *size;              // a capsfilter behind a scaler, a reference; NULL: none
    GstPad *feed;                  // owned; linked to the fragment's sink pad
    atomic_bool packs;             // the last frame was copied, as the way asks
};

// Builds and starts it; `new_sample` is the appsink's callback. -ENOSYS with GStreamer's reason.
// Whatever the result: encoder_pipeline_stop() and _finish() end it.
int encoder_pipeline_init(struct encoder_pipeline *pipeline, const struct encoder_element *element,
                          const struct encoder_way *way, const struct encoder_settings *settings,
                          GstFlowReturn (*new_sample)(GstAppSink *sink, void *context),
                          void *context, struct error *error);

// Pushes one NV12 frame, whose reference it takes over, with running time `pts_ns`; returns when
// the element has taken it.
GstFlowReturn encoder_pipeline_push(struct encoder_pipeline *pipeline, struct frame *frame,
                                    int64_t pts_ns, bool key_frame);

// Another bit rate for the frames that follow; from the thread that pushes.
void encoder_pipeline_set_bitrate(struct encoder_pipeline *pipeline, int bitrate_kbps);

// Scales the frames that follow to another size, where the element takes frames from system memory;
// from the thread that pushes. The next picture is a key frame.
void encoder_pipeline_set_size(struct encoder_pipeline *pipeline, unsigned width, unsigned height);

// Puts the element's error message from the bus into `error`, or `otherwise` if there is none.
// Returns -ENOSYS.
int encoder_pipeline_error(struct encoder_pipeline *pipeline, struct error *error,
                           const char *otherwise);

// Stops: a push under way in another thread returns, no callback comes afterwards.
void encoder_pipeline_stop(struct encoder_pipeline *pipeline);
void encoder_pipeline_finish(struct encoder_pipeline *pipeline);
