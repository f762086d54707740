// Who may have which ports of the sockets that viewers by UDP share.
#include "tests/unit/unit.h"

#include "daemon/front/stream/udp_sockets.h"

#include <arpa/inet.h>
#include <errno.h>

struct fixture {
    struct poller *poller;
    struct udp_sockets *sockets;
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);

    assert_int_equal(poller_new(&fixture->poller), 0);
    assert_int_equal(udp_sockets_new(fixture->poller,
                                     &(struct sockaddr_storage){.ss_family = AF_INET},
                                     &fixture->sockets),
                     0);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    udp_sockets_free(fixture->sockets);
    poller_free(fixture->poller);
    free(fixture);
    return 0;
}

static struct udp_peer peer_at(const char *name, uint16_t rtp, uint16_t rtcp)
{
    struct udp_peer peer = {.rtp = {.ss_family = AF_INET}};

    inet_pton(AF_INET, name, &((struct sockaddr_in *)&peer.rtp)->sin_addr);
    peer.rtcp = peer.rtp;
    udp_address_set_port(&peer.rtp, rtp);
    udp_address_set_port(&peer.rtcp, rtcp);
    return peer;
}

// Two viewers of one address, as behind a router that translates addresses, could not tell whose
// packets are whose.
TEST(test_a_port_of_an_address_belongs_to_one_viewer, set_up, tear_down)
{
    static const uint16_t ports[][2] = {
        {5000, 5001}, {5000, 5003}, {5002, 5001}, {5001, 5003}, {5002, 5000}};
    struct fixture *fixture = *state;
    struct udp_peer first = peer_at("192.0.2.1", 5000, 5001);
    struct udp_peer beside = peer_at("192.0.2.1", 5002, 5003);
    struct udp_peer elsewhere = peer_at("192.0.2.2", 5000, 5001);

    assert_int_equal(udp_sockets_add(fixture->sockets, &first), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(ports); i++) {
        struct udp_peer other = peer_at("192.0.2.1", ports[i][0], ports[i][1]);

        assert_int_equal(udp_sockets_add(fixture->sockets, &other), -EADDRINUSE);
    }
    assert_int_equal(udp_sockets_add(fixture->sockets, &beside), 0);
    assert_int_equal(udp_sockets_add(fixture->sockets, &elsewhere), 0);
    udp_sockets_remove(fixture->sockets, &first);
    struct udp_peer next = peer_at("192.0.2.1", 5001, 5000);
    assert_int_equal(udp_sockets_add(fixture->sockets, &next), 0);
    udp_sockets_remove(fixture->sockets, &next);
    udp_sockets_remove(fixture->sockets, &beside);
    udp_sockets_remove(fixture->sockets, &elsewhere);
}

RUN_TESTS(NULL, NULL)
