// The encoder elements edged knows, as GStreamer launch fragments, best first.
#pragma once

#include "capture/copies.h"
#include "daemon/camera/encoder_settings.h"

#include <gst/gst.h>

#define ENCODER_WAYS_MAX 3

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
    // Sets bit rate, distance of key frames and low latency; properties differ by release, so each
    // is set only where the element has it.
    void (*configure)(GstElement *encoder, const struct encoder_settings *settings);
    void (*set_bitrate)(GstElement *encoder, int bitrate_kbps); // while it plays
};

// Entry `index`, NULL past the end.
const struct encoder_element *encoder_element_at(size_t index);
