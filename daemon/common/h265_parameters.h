// The parameter sets of an H.265 stream (ITU-T H.265, 7.3.2): decoding begins at a key frame, so
// each has them in front, and they say that pictures are decoded in the order in which they are
// shown. Encoders repeat them or not, and where an encoder's set allows pictures to be reordered,
// a decoder holds as many of them back.
//
// GStreamer's h265parse could repeat them too, but before 1.18 (JetPack 5 has 1.16) it hands each
// picture out only once the next one has come.
#pragma once

#include <glib.h>
#include <gst/gst.h>

#include <stddef.h>
#include <stdint.h>

// The NAL unit `sps` (its header, without a start code) with sps_max_num_reorder_pics of 0 for each
// temporal sub-layer, as a new array; NULL when it is no sequence parameter set that can be read up
// to there. Everything else stays as it is, bit for bit.
GByteArray *h265_sps_rewrite(const uint8_t *sps, size_t size);

// From now on each IRAP picture in the buffers that pass `pad` (access units in Annex B) has the
// stream's parameter sets in front, rewritten. Buffers of parameter sets alone are kept back.
void h265_parameters_set(GstPad *pad);
