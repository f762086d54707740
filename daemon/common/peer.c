#include "daemon/common/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#define NETWORK_SIZE 8 // bytes of a /64

static const uint8_t v4_prefix[12] = {[10] = 0xff, [11] = 0xff};

static bool is_v4(const struct peer *peer)
{
    return memcmp(peer->address, v4_prefix, sizeof v4_prefix) == 0;
}

struct peer peer_of(const struct sockaddr *address)
{
    struct peer peer = {0};
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;

    if (address->sa_family == AF_INET) {
        memcpy(&v4, address, sizeof v4);
        memcpy(peer.address, v4_prefix, sizeof v4_prefix);
        memcpy(peer.address + sizeof v4_prefix, &v4.sin_addr, sizeof v4.sin_addr);
    } else if (address->sa_family == AF_INET6) {
        memcpy(&v6, address, sizeof v6);
        memcpy(peer.address, &v6.sin6_addr, sizeof peer.address);
    }
    return peer;
}

struct peer peer_parse(const char *text)
{
    struct peer peer = {0};

    if (inet_pton(AF_INET, text, peer.address + sizeof v4_prefix) == 1)
        memcpy(peer.address, v4_prefix, sizeof v4_prefix);
    else if (inet_pton(AF_INET6, text, peer.address) != 1)
        peer = (struct peer){0};
    return peer;
}

bool peer_is_loopback(const struct peer *peer)
{
    return is_v4(peer) ? peer->address[sizeof v4_prefix] == IN_LOOPBACKNET
                       : memcmp(peer->address, &in6addr_loopback, sizeof peer->address) == 0;
}

struct peer peer_network(const struct peer *peer)
{
    struct peer network = *peer;

    if (!is_v4(peer))
        memset(network.address + NETWORK_SIZE, 0, sizeof network.address - NETWORK_SIZE);
    return network;
}

void peer_name(const struct peer *peer, char ret_text[INET6_ADDRSTRLEN])
{
    if (is_v4(peer))
        inet_ntop(AF_INET, peer->address + sizeof v4_prefix, ret_text, INET6_ADDRSTRLEN);
    else
        inet_ntop(AF_INET6, peer->address, ret_text, INET6_ADDRSTRLEN);
}

void peer_format(const struct peer *network, char ret_text[PEER_TEXT_SIZE])
{
    char text[INET6_ADDRSTRLEN];

    peer_name(network, text);
    snprintf(ret_text, PEER_TEXT_SIZE, is_v4(network) ? "%s" : "%s/64", text);
}
