// Packets by UDP.
#pragma once

#include "daemon/front/stream/transport.h"
#include "daemon/front/stream/udp_sockets.h"

// From `source`, an address of this machine and of the sockets' family, whatever its port (NULL, or
// gone: the kernel chooses), to `address`, ports `port` and `rtcp_port`. `take_rtcp` gets what
// comes from that address and RTCP port, or to them where it is the group of `sockets`.
// -EADDRINUSE: packets go there already; -ENOMEM.
int transport_udp_new(struct udp_sockets *sockets, const struct sockaddr_storage *source,
                      const struct sockaddr_storage *address, uint16_t port, uint16_t rtcp_port,
                      udp_report_handler *take_rtcp, void *context,
                      struct transport **ret_transport);
