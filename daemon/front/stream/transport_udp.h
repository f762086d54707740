// Packets by UDP, and the sockets that all viewers by UDP share: RTP on an even port, RTCP on the
// one above; and those that send to a multicast group. Main loop only.
#pragma once

#include "daemon/front/socket/poller.h"
#include "daemon/front/stream/transport.h"

#include <netinet/in.h>
#include <sys/socket.h>

struct udp_sockets;

// Binds them to the address `at`, whatever its port, of AF_INET or AF_INET6; of the latter the
// unspecified address serves IPv4, too. `poller` is borrowed. -EADDRINUSE: no pair of ports is
// free; or another -errno.
int udp_sockets_new(struct poller *poller, const struct sockaddr_storage *at,
                    struct udp_sockets **ret_sockets);
// Makes a pair of sockets for one multicast group of IPv4 and its RTP port, which send by the
// interface of `group`, at most `ttl` routers far. They join the group at its RTCP port: reports
// that come there go to the one transport, which has the group's address. 0 or -errno.
int udp_sockets_new_group(struct poller *poller, const struct ip_mreqn *group, uint16_t port,
                          int ttl, struct udp_sockets **ret_sockets);
// There are no transports left. Takes NULL.
void udp_sockets_free(struct udp_sockets *sockets);
// The port of RTP; that of RTCP is one more.
uint16_t udp_sockets_port(const struct udp_sockets *sockets);

// Takes the bytes that came to the RTCP port, and from where.
typedef void udp_report_handler(void *context, const struct sockaddr *from, const uint8_t *bytes,
                                size_t size);

// From `source`, an address of this machine and of the sockets' family, whatever its port (NULL, or
// gone: the kernel chooses), to `address`, ports `port` and `rtcp_port`. `take_rtcp` gets what
// comes from that address and RTCP port, or to them where it is the group of `sockets`.
// -EADDRINUSE: packets go there already; -ENOMEM.
int transport_udp_new(struct udp_sockets *sockets, const struct sockaddr_storage *source,
                      const struct sockaddr_storage *address, uint16_t port, uint16_t rtcp_port,
                      udp_report_handler *take_rtcp, void *context,
                      struct transport **ret_transport);
