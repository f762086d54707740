// Two viewers by UDP on the loopback device, played by the test.
#pragma once

#include "tests/unit/stopwatch.h"
#include "tests/unit/unit.h"

#include "daemon/front/stream/transport_udp.h"

#include <arpa/inet.h>
#include <glib.h>
#include <limits.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <string.h>

#define SOURCE "127.0.0.3" // any address of this machine but the one it would choose

struct client {
    int rtp, rtcp;
    uint16_t rtp_port, rtcp_port;
    struct transport *transport;
    unsigned reports, writables;
    uint8_t report[100];
    size_t report_size;
};

struct fixture {
    struct poller *poller;
    struct udp_sockets *sockets;
    struct sockaddr_storage source;  // where packets come from
    struct sockaddr_storage address; // of the clients
    struct client clients[2];
};

static inline void on_rtcp(void *context, const struct sockaddr *from, const uint8_t *bytes,
                           size_t size)
{
    struct client *client = context;

    (void)from;
    assert_in_range(size, 0, sizeof client->report);
    memcpy(client->report, bytes, size);
    client->report_size = size;
    client->reports++;
}

static inline void on_writable(void *context)
{
    ((struct client *)context)->writables++;
}

// A socket on any port of `address`, a numeric IPv4 address.
static inline int bind_to(const char *address, uint16_t *ret_port)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(*ret_port)};
    socklen_t size = sizeof own;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    inet_pton(AF_INET, address, &own.sin_addr);
    assert_int_equal(bind(fd, (struct sockaddr *)&own, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&own, &size), 0);
    *ret_port = ntohs(own.sin_port);
    return fd;
}

static inline void begin(struct fixture *fixture, struct client *client)
{
    assert_int_equal(transport_udp_new(fixture->sockets, &fixture->source, &fixture->address,
                                       client->rtp_port, client->rtcp_port, on_rtcp, client,
                                       &client->transport),
                     0);
    client->transport->writable = on_writable;
    client->transport->context = client;
}

// An address of IPv4, for sockets of either family.
static inline struct sockaddr_storage make_address(int family, const char *text)
{
    struct sockaddr_storage address = {.ss_family = (sa_family_t)family};
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&address;
    struct sockaddr_in *four = (struct sockaddr_in *)&address;
    char mapped[32];

    snprintf(mapped, sizeof mapped, "::ffff:%s", text);
    assert_int_equal(family == AF_INET6 ? inet_pton(family, mapped, &six->sin6_addr)
                                        : inet_pton(family, text, &four->sin_addr),
                     1);
    return address;
}

static inline int set_up_family(void **state, int family)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);

    fixture->source = make_address(family, SOURCE);
    fixture->address = make_address(family, "127.0.0.1");
    assert_int_equal(poller_new(&fixture->poller), 0);
    assert_int_equal(udp_sockets_new(fixture->poller,
                                     &(struct sockaddr_storage){.ss_family = (sa_family_t)family},
                                     &fixture->sockets),
                     0);
    for (size_t i = 0; i < ARRAY_LENGTH(fixture->clients); i++) {
        struct client *client = &fixture->clients[i];

        client->rtp = bind_to("127.0.0.1", &client->rtp_port);
        client->rtcp = bind_to("127.0.0.1", &client->rtcp_port);
        begin(fixture, client);
    }
    *state = fixture;
    return 0;
}

static inline int set_up(void **state)
{
    return set_up_family(state, AF_INET);
}

static inline int set_up_dual(void **state)
{
    return set_up_family(state, AF_INET6);
}

static inline int tear_down(void **state)
{
    struct fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_LENGTH(fixture->clients); i++) {
        if (fixture->clients[i].transport) {
            fixture->clients[i].transport->ops->free(fixture->clients[i].transport);
        }
        close(fixture->clients[i].rtp);
        close(fixture->clients[i].rtcp);
    }
    udp_sockets_free(fixture->sockets);
    poller_free(fixture->poller);
    free(fixture);
    return 0;
}
