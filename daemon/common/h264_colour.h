// What an H.264 stream says of its colours, in the VUI of its sequence parameter sets (ITU-T H.264,
// 7.3.2.1.1 and E.1.1).
//
// Encoders differ in what they write there: openh264enc writes nothing, x264enc what GStreamer
// makes of the caps, hardware what its driver assumes. So edged writes it for all of them.
// Everything else in a parameter set stays as it is, bit for bit.
#pragma once

#include "capture/frame.h"

#include <gst/gst.h>

struct h264_colour {
    enum frame_range range;
    struct frame_colour colour;
};

// The NAL unit `sps` (its header, without a start code) with `colour` in its VUI, as a new array;
// NULL when it is no parameter set that can be read to its VUI.
GByteArray *h264_colour_rewrite(const uint8_t *sps, size_t size, const struct h264_colour *colour);

// From now on the parameter sets in every buffer that passes `pad` (access units in Annex B) say
// `colour`, which is copied.
void h264_colour_set(GstPad *pad, const struct h264_colour *colour);
