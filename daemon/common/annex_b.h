// NAL units of a byte stream, as encoders hand it out: annex B of ITU-T H.264 and of H.265.
#pragma once

#include "config/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The NAL unit that begins at or behind `offset`: sets its offset and size, without start code and
// the zeros behind it, and returns where to look for the next one; 0: there is none.
size_t annex_b_next(const uint8_t *bytes, size_t size, size_t offset, size_t *ret_offset,
                    size_t *ret_size);

// Whether decoding may begin at an access unit, by the type of the first slice in it (table 7-1 of
// either): H.264, an IDR picture, 5; H.265, an IRAP picture, 16 to 21. A picture that only has no
// references of its own is none, because pictures behind it may refer to what was before it.
bool annex_b_is_key_frame(enum config_codec codec, const uint8_t *bytes, size_t size);
