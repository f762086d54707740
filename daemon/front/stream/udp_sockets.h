// The sockets that all viewers by UDP share: RTP on an even port, RTCP on the one above; and those
// that send to a multicast group.
#pragma once

#include "config/base.h"
#include "daemon/front/poller.h"

#include <glib.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <sys/socket.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103 // linux/udp.h
#endif

// What came to the RTCP port, and from where.
typedef void udp_report_handler(void *context, const struct sockaddr *from, const uint8_t *bytes,
                                size_t size);

// A receiver of packets. Embedded in its transport.
struct udp_peer {
    struct sockaddr_storage rtp;  // where its packets go to
    struct sockaddr_storage rtcp; // where its RTCP comes from and goes to
    udp_report_handler *take_rtcp;
    void *context;
    void (*writable)(struct udp_peer *peer); // there is room again, after udp_sockets_wait()
    bool waits;
};

struct udp_sockets;

// Binds them to the address `at`, whatever its port, of AF_INET or AF_INET6; of the latter the
// unspecified address serves IPv4, too. `poller` is borrowed. -EADDRINUSE: no pair of ports is
// free; or another -errno.
int udp_sockets_new(struct poller *poller, const struct sockaddr_storage *at,
                    struct udp_sockets **ret_sockets);
// Makes a pair of sockets for one multicast group of IPv4 and its RTP port, which send by the
// interface of `group`, at most `ttl` routers far. They join the group at its RTCP port: reports
// that come there go to the one peer, which has the group's address. 0 or -errno.
int udp_sockets_new_group(struct poller *poller, const struct ip_mreqn *group, uint16_t port,
                          int ttl, struct udp_sockets **ret_sockets);
// There are no peers left. Takes NULL.
void udp_sockets_free(struct udp_sockets *sockets);
// The port of RTP; that of RTCP is one more.
uint16_t udp_sockets_port(const struct udp_sockets *sockets);
int udp_sockets_rtp(const struct udp_sockets *sockets);
int udp_sockets_rtcp(const struct udp_sockets *sockets);

// Whether the kernel cuts long datagrams apart (UDP_SEGMENT), where their route lets it.
bool udp_sockets_has_segments(const struct udp_sockets *sockets);

// `peer` is borrowed until udp_sockets_remove(). -EADDRINUSE: a peer has one of its addresses
// already.
int udp_sockets_add(struct udp_sockets *sockets, struct udp_peer *peer);
void udp_sockets_remove(struct udp_sockets *sockets, struct udp_peer *peer);
// The RTP socket has no room: calls `writable` when it has.
void udp_sockets_wait(struct udp_sockets *sockets, struct udp_peer *peer);

// Of an address of either family.
socklen_t udp_address_size(const struct sockaddr_storage *address);
void udp_address_set_port(struct sockaddr_storage *address, uint16_t port);
