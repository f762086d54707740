// The colours of an H.264 stream and the order of its pictures, in the VUI of its sequence
// parameter sets (ITU-T H.264, 7.3.2.1.1 and E.1.1).
//
// Encoders differ in what they write there: openh264enc writes no colours, x264enc what GStreamer
// makes of the caps, hardware what its driver assumes. Where nothing is said of the order, a
// decoder may hold up to 16 pictures back, as others could come before them. So edged writes it for
// all of them. Everything else in a parameter set stays as it is, bit for bit.
#pragma once

#include "daemon/video/nal.h"

struct h264_sps {
    enum frame_range range;
    struct frame_colour colour;
    bool in_order; // pictures are decoded in the order in which they are shown
};

// The NAL unit `sps` (its header, without a start code) with `says` in its VUI, as a new array;
// NULL when it is no parameter set that can be read to its end. in_order: max_num_reorder_frames
// becomes 0; a set without bitstream restrictions gets those that stand for none (E.2.1), and a
// max_dec_frame_buffering of max_num_ref_frames, the least that it may be.
GByteArray *h264_sps_rewrite(const uint8_t *sps, size_t size, const struct h264_sps *says);

// An access unit in Annex B with each of its sequence parameter sets so rewritten, as a new array.
GByteArray *h264_unit_rewrite(const uint8_t *bytes, size_t size, const struct h264_sps *says);

// Reads what such a NAL unit says of the pictures. -EBADMSG: it is no parameter set that can be
// read to its end.
int h264_sps_read(const uint8_t *sps, size_t size, struct nal_picture *ret_picture);
