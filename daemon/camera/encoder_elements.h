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
// Why an element that makes the codec of the settings is not even tried where they leave the choice
// to auto; static. `hung` has a bit for each enum config_encoder that did. NULL: it is.
const char *encoder_element_objection(const struct encoder_element *element,
                                      const struct encoder_settings *settings, unsigned hung);
