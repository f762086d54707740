// The parameter sets of an H.265 stream (ITU-T H.265, 7.3.2): decoding begins at a key frame, so
// each has them in front, and they say that pictures are decoded in the order in which they are
// shown. Encoders repeat them or not, and where an encoder's set allows pictures to be reordered,
// a decoder holds as many of them back.
#pragma once

#include "daemon/video/nal.h"

// The NAL unit `sps` (its header, without a start code) with sps_max_num_reorder_pics of 0 for each
// temporal sub-layer, as a new array; NULL when it is no sequence parameter set that can be read up
// to there. Everything else stays as it is, bit for bit.
GByteArray *h265_sps_rewrite(const uint8_t *sps, size_t size);

// An access unit in Annex B with its parameter sets rewritten and, if it is an IRAP picture, the
// stream's in front of it. `known` keeps those, which each unit may bring anew; empty at first.
// NULL: the unit is to stay as it is or, where it has parameter sets alone (*ret_empty), to be kept
// back.
GByteArray *h265_unit_rewrite(const uint8_t *bytes, size_t size, GByteArray *known,
                              bool *ret_empty);

// Reads what a sequence parameter set (its header, without a start code) says of the pictures.
// -EBADMSG: it is none that can be read to its end.
int h265_sps_read(const uint8_t *sps, size_t size, struct nal_picture *ret_picture);
