// RTCP of viewers.
//
// Parsers: daemon/front/stream/rtcp.c
#include "tests/fuzz/fuzz.h"

#include "daemon/front/stream/rtcp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(size + !size);
    struct rtcp_feedback feedback;

    fuzz_claim(bytes != NULL);
    memcpy(bytes, data, size);
    if (rtcp_read(bytes, size, &feedback)) {
        fuzz_claim(size >= 4 && size % 4 == 0);
    }
    free(bytes);
    return 0;
}
