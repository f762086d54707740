// The encoder elements edged knows, as GStreamer launch fragments, best first.
#pragma once

#include "daemon/camera/encoder_settings.h"

#include <gst/gst.h>

struct encoder_element {
    enum config_encoder id;
    const char *name;
    const char *fragment; // from NV12 in system memory; the encoder is called "encoder"
    bool converts;        // the fragment converts each frame in system memory
    // Sets bit rate, distance of key frames and low latency; properties differ by release, so each
    // is set only where the element has it.
    void (*configure)(GstElement *encoder, const struct encoder_settings *settings);
    void (*set_bitrate)(GstElement *encoder, int bitrate_kbps); // while it plays
};

// Entry `index`, NULL past the end.
const struct encoder_element *encoder_element_at(size_t index);
