// The address of a client, in one form for both families: an IPv4 address is written as IPv6's
// ::ffff:0:0/96.
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct peer {
    uint8_t address[16];
};

#define PEER_TEXT_SIZE 50

// Of another family than AF_INET and AF_INET6: ::, which no peer has.
struct peer peer_of(const struct sockaddr *address);
// Of an address as inet_pton() takes it; of another text ::.
struct peer peer_parse(const char *text);
bool peer_is_loopback(const struct peer *peer);
// The network that a single subscriber usually has: one address of IPv4, a /64 of IPv6.
struct peer peer_network(const struct peer *peer);
// "192.168.1.5", "2001:db8::5".
void peer_name(const struct peer *peer, char ret_text[INET6_ADDRSTRLEN]);
// "192.168.1.5", "2001:db8::/64" for what peer_network() makes.
void peer_format(const struct peer *network, char ret_text[PEER_TEXT_SIZE]);
