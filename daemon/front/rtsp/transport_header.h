// The Transport header of SETUP (RFC 2326, section 12.39).
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum rtsp_lower_transport { RTSP_LOWER_UDP, RTSP_LOWER_INTERLEAVED, RTSP_LOWER_MULTICAST };
// One of them in a set.
#define RTSP_LOWER_BIT(lower) (1U << (lower))

// One way that the client would take.
struct rtsp_transport_offer {
    enum rtsp_lower_transport lower;
    int channel, rtcp_channel; // interleaved: as asked for; -1: ours to choose
    uint16_t port, rtcp_port;  // UDP by unicast: the client's
};

// The first of the client's offers that can be had, RTP/AVP by one of the set `allowed`. By UDP it
// is unicast where it does not say otherwise, as players mean it, not as RFC 2326 has it. False:
// none can. What else an offer says (a mode of record) makes it one that cannot, unless it can be
// passed over: destination, port and ttl are never the client's to choose, for packets go to
// whoever asks, or to a group of ours.
bool rtsp_transport_choose(const char *header, unsigned allowed,
                           struct rtsp_transport_offer *ret_offer);
