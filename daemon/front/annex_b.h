// Encoded video as it comes over the link: H.264 in Annex B byte-stream form.
#pragma once

#include <gst/gst.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Begins with a start code. An h264parse that is handed anything else ends its pipeline, and with
// it every session.
bool annex_b_is(const uint8_t *bytes, size_t size);

// The bytes of `payload` (malloc'd, `size` bytes) behind `offset`, without a copy; takes over
// `payload`. The caller unrefs the result.
GstMemory *annex_b_wrap(uint8_t *payload, size_t size, size_t offset);
