// The Transport header of SETUP (RFC 2326, section 12.39).
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum rtsp_lower_transport { RTSP_LOWER_UDP, RTSP_LOWER_INTERLEAVED, RTSP_LOWER_MULTICAST };
// A kind of transport as a bit of a set.
#define RTSP_LOWER_BIT(lower) (1U << (lower))

// One way that the client would take.
struct rtsp_transport_offer {
    enum rtsp_lower_transport lower;
    int channel, rtcp_channel; // interleaved: as asked for; -1: ours to choose
    uint16_t port, rtcp_port;  // UDP by unicast: the client's
};

// Chooses the first of the client's offers that can be accepted: RTP/AVP by a transport of the set
// `allowed`. False: none can. UDP means unicast if the offer does not say otherwise; RFC 2326 has
// it the other way round, but players mean it so. An offer with parameters that cannot be met (a
// mode of record) is not accepted. Destination, port and ttl are ignored, because packets go only
// to the client that asks, or to a group of the configuration.
bool rtsp_transport_choose(const char *header, unsigned allowed,
                           struct rtsp_transport_offer *ret_offer);
