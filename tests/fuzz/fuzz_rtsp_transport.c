// The Transport header of SETUP.
//
// Parsers: daemon/front/rtsp/transport_header.c
#include "tests/fuzz/fuzz.h"

#include "daemon/front/rtsp/transport_header.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *header = fuzz_text(data, size);
    struct rtsp_transport_offer offer;

    for (unsigned udp_allowed = 0; udp_allowed < 2; udp_allowed++) {
        if (!rtsp_transport_choose(header, udp_allowed, &offer)) {
            continue;
        }
        if (offer.lower == RTSP_LOWER_UDP) {
            fuzz_claim(udp_allowed && offer.port > 0 && offer.rtcp_port > 0);
        } else {
            fuzz_claim(offer.channel >= -1 && offer.channel <= 255);
            fuzz_claim(offer.rtcp_channel >= -1 && offer.rtcp_channel <= 255);
        }
    }
    free(header);
    return 0;
}
