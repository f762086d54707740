// A range of multicast addresses of IPv4, as rtsp.multicast.addresses has it: one address
// ("239.255.4.1"), a network ("239.255.4.0/24"), or a first and a last
// ("239.255.4.1-239.255.4.9").
#pragma once

#include <stdint.h>

#define MULTICAST_RANGE_ALLOWED                                                                    \
    "\"\", or of 224.0.1.0 to 239.255.255.255 one address, a network (\"239.255.4.0/24\") or a "   \
    "first and a last (\"239.255.4.1-239.255.4.9\")"

struct multicast_range {
    uint32_t first; // in the machine's byte order
    uint32_t count; // 0: none
};

// "" is an empty range. -EINVAL: `text` is none, has bits beyond its prefix, or an address outside
// of what MULTICAST_RANGE_ALLOWED says. No router passes on addresses below, 224.0.0.0/24, which
// belong to routers' protocols (RFC 5771, section 4).
int multicast_range_parse(const char *text, struct multicast_range *ret_range);
