// JPEGs as packets.
//
// Parsers: daemon/front/stream/payload_jpeg.c
#include "tests/fuzz/fuzz_packets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_packetize(&payload_jpeg, data, size);
}
