// Packets on the connection of their session, behind "$", a channel and a length (RFC 2326, section
// 10.12).
#pragma once

#include "daemon/front/rtsp/wire.h"
#include "daemon/front/stream/transport.h"

// `wire` is borrowed: the session that owns the transport ends before its connection. RTP goes out
// on `channel`, RTCP on `rtcp_channel`. NULL: out of memory.
struct transport *transport_interleaved_new(struct wire *wire, uint8_t channel,
                                            uint8_t rtcp_channel);
