// RTCP of viewers, and what a sender reports, which has to be RTCP itself.
//
// Parsers: daemon/front/stream/rtcp.c
#include "tests/fuzz/fuzz.h"

#include "daemon/front/stream/rtcp.h"

static void check_report(const uint8_t *data, size_t size)
{
    struct rtcp_sender sender = {.bye = size % 2};
    uint8_t bytes[RTCP_REPORT_MAX];
    struct rtcp_feedback feedback;
    char *name = fuzz_text(data, size < 64 ? size : 64);

    memcpy(&sender.timestamp, name,
           size < sizeof sender.timestamp ? size : sizeof sender.timestamp);
    sender.wall_ns = (int64_t)sender.timestamp << 20;
    sender.cname = name;
    size_t written = rtcp_write(&sender, bytes);
    fuzz_claim(written <= sizeof bytes && rtcp_read(bytes, written, &feedback));
    fuzz_claim(feedback.report && feedback.bye == sender.bye && !feedback.key_frame);
    free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(size + !size);
    struct rtcp_feedback feedback;

    fuzz_claim(bytes != NULL);
    memcpy(bytes, data, size);
    if (rtcp_read(bytes, size, &feedback))
        fuzz_claim(size >= 4 && size % 4 == 0);
    check_report(data, size);
    free(bytes);
    return 0;
}
