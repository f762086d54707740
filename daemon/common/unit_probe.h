// Access units of a GStreamer pipeline, rewritten on the pad that they pass.
#pragma once

#include "daemon/video/h264_sps.h"

#include <gst/gst.h>

// From now on the parameter sets in every buffer of H.264 that passes `pad` (access units in
// Annex B) say `says`, which is copied.
void unit_probe_h264(GstPad *pad, const struct h264_sps *says);

// From now on each IRAP picture in the buffers of H.265 that pass `pad` (access units in Annex B)
// has the stream's parameter sets in front, rewritten. Buffers of parameter sets alone are kept
// back.
//
// GStreamer's h265parse could repeat them too, but before 1.18 (JetPack 5 has 1.16) it hands each
// picture out only once the next one has come.
void unit_probe_h265(GstPad *pad);
