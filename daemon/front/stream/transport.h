// How a viewer's packets reach it: interleaved with RTSP on its connection, or by UDP.
#pragma once

#include "daemon/front/stream/rtp.h"
#include "daemon/front/stream/unit.h"

#include <stddef.h>

struct transport;

struct transport_ops {
    // Sends the packets of `unit` from number `from` on, the first with `header`, the others with
    // sequence numbers that follow. Returns how many were taken, which may be 0: the others would
    // block, and `writable` follows. -errno: nothing goes any more.
    int (*send)(struct transport *transport, const struct rtp_header *header,
                const struct unit *unit, unsigned from);
    // Sends one compound RTCP packet; drops it where it would block.
    void (*send_rtcp)(struct transport *transport, const uint8_t *bytes, size_t size);
    void (*free)(struct transport *transport);
};

// The first member of each kind of transport.
struct transport {
    const struct transport_ops *ops;
    // Set by the user of the transport.
    void (*writable)(void *context);
    void *context;
};
