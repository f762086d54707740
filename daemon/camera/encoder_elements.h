// The encoder elements that edged knows, best first, and the pipeline around one of them: the
// element between a pad that frames are pushed into and an appsink that access units come out of.
// There is no queue, no clock and no thread of its own in it. "turbojpeg" is no element: its
// pipeline has nothing of GStreamer, and makes a JPEG (jpeg.h) of each frame.
#pragma once

#include "capture/copies.h"
#include "capture/frame.h"
#include "config/config.h"

#include <gst/gst.h>
#include <stdatomic.h>

#define ENCODER_WAYS_MAX 3

struct jpeg;

// The settings of an encoder.
struct encoder_settings {
    uint32_t width, height; // pixels
    // Both signalled in the SPS.
    enum frame_range range;
    struct frame_colour colour;
    unsigned fps_numerator, fps_denominator;
    int bitrate_kbps;         // 0: MJPEG
    int jpeg_quality;         // of MJPEG, else 0
    unsigned keyframe_frames; // distance of key frames in frames
    enum config_codec codec;
    enum config_governor governor;
    enum config_encoder element; // auto, or one that makes the codec
    unsigned without;            // what auto leaves out, as of struct board_profile
    unsigned failed;             // to be passed over, a bit for each config_encoder
    unsigned surfaces;           // 1: all frames are surfaces of a Jetson's NVMM
};

// A way for frames into an element.
struct encoder_way {
    const char *fragment; // the encoder is called "encoder"; NULL: there is no such way
    bool surfaces;        // it takes surfaces of NVMM; otherwise NV12 in system memory
    bool packed;          // it knows no strides but those that GStreamer has for a width
    const char *how;      // behind the element's name, " by descriptor"; "": in the only way
    uint8_t copies[COPY_KIND_COUNT]; // what each frame costs
};

struct encoder_element {
    enum config_encoder id;
    const char *name;
    struct encoder_way ways[ENCODER_WAYS_MAX]; // best first
    // Its H.264 has the parameter sets in front of each IDR picture and needs no parser; its
    // fragments end in caps of video/x-h264.
    bool repeats_sets;
    // NULL, both: turbojpeg. Sets bit rate, distance of key frames and low latency; properties
    // differ by release, so each is set only where the element has it.
    void (*configure)(GstElement *encoder, const struct encoder_settings *settings);
    void (*set_bitrate)(GstElement *encoder, int bitrate_kbps); // while it plays
};

// Entry `index`, NULL past the end.
const struct encoder_element *encoder_element_at(size_t index);

// One access unit came out, of the frame that was pushed with running time `pts_ns`. Called in one
// of the element's threads, or by encoder_pipeline_push(). The bytes are borrowed.
typedef void encoder_pipeline_output(void *context, int64_t pts_ns, const uint8_t *bytes,
                                     size_t size);

struct encoder_pipeline {
    const struct encoder_element *element;
    const struct encoder_way *way; // of the element
    GstElement *pipeline;          // owned
    GstElement *encoder;           // the element in it, a reference
    GstElement *size;              // a capsfilter behind a scaler, a reference; NULL: none
    GstPad *feed;                  // owned; linked to the fragment's sink pad
    atomic_bool packs;             // the last frame was copied, as the way asks
    encoder_pipeline_output *output;
    void *context;
    struct jpeg *jpeg;    // of turbojpeg, owned; NULL: there are elements
    int jpeg_quality;     // of the frames that follow; set by the thread that pushes
    struct error failure; // of turbojpeg
};

// Builds and starts it. -ENOSYS with GStreamer's reason, or why there is no MJPEG of this size;
// -ENOENT, the same, where GStreamer has no such element.
// Whatever the result: encoder_pipeline_stop() and _finish() end it.
int encoder_pipeline_init(struct encoder_pipeline *pipeline, const struct encoder_element *element,
                          const struct encoder_way *way, const struct encoder_settings *settings,
                          encoder_pipeline_output *output, void *context, struct error *error);

// Pushes one NV12 frame, whose reference it takes over, with running time `pts_ns`; returns when
// the element has taken it.
GstFlowReturn encoder_pipeline_push(struct encoder_pipeline *pipeline, struct frame *frame,
                                    int64_t pts_ns, bool key_frame);

// Another bit rate for the frames that follow; from the thread that pushes. JPEGs have none.
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
