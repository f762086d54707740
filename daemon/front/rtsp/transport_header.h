// The Transport header of SETUP (RFC 2326, section 12.39).
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum rtsp_lower_transport { RTSP_LOWER_UDP, RTSP_LOWER_INTERLEAVED };

// One way that the client would take.
struct rtsp_transport_offer {
    enum rtsp_lower_transport lower;
    int channel, rtcp_channel; // interleaved: as asked for; -1: ours to choose
    uint16_t port, rtcp_port;  // UDP: the client's
};

// The first of the client's offers that can be had: RTP/AVP by unicast, UDP or interleaved. False:
// none can. What else an offer says (a destination, a mode of record) makes it one that cannot,
// unless it can be passed over (a destination is never sent to: packets go to whoever asks).
bool rtsp_transport_choose(const char *header, bool udp_allowed,
                           struct rtsp_transport_offer *ret_offer);
