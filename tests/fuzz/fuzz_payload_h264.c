// H.264 in Annex B form as packets.
//
// Parsers: daemon/front/stream/annex_b_next.c daemon/front/stream/nal_payload.c
// Parsers: daemon/front/stream/payload_h264.c
#include "tests/fuzz/fuzz_packets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_packetize(&payload_h264, data, size);
}
