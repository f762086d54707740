// Packets by UDP over a route that takes shorter ones than most, as a tunnel does.
#include "tests/unit/stopwatch.h"
#include "tests/unit/unit.h"

#include "daemon/front/stream/transport_udp.h"

#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>

#define PACKETS 100u
#define PACKET_BYTES 1400
#define MTU 1280 // of a loopback device of the test's own

// In a network of its own, if the kernel lets it. -errno
static int make_network(void)
{
    struct ifreq request = {.ifr_name = "lo", .ifr_mtu = MTU};
    int r = 0;

    if (unshare(CLONE_NEWNET) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
        return -errno;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    r = ioctl(fd, SIOCSIFMTU, &request) < 0 ? -errno : 0;
    request.ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING;
    r = r == 0 && ioctl(fd, SIOCSIFFLAGS, &request) < 0 ? -errno : r;
    close(fd);
    return r;
}

static int bind_viewer(struct sockaddr_storage *ret_address)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    const int room = 4 << 20;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    memcpy(ret_address, &address, sizeof address);
    return fd;
}

static struct unit *make_unit(void)
{
    const size_t size = (size_t)PACKETS * PACKET_BYTES;
    const struct unit_source source = {.memory = calloc(1, size), .size = size};
    struct unit *unit;

    assert_int_equal(unit_new(&source, &unit), 0);
    for (size_t i = 0; i < PACKETS; i++)
        assert_int_equal(unit_add_packet(unit, NULL, 0, i * PACKET_BYTES, PACKET_BYTES), 0);
    return unit;
}

static void ignore_rtcp(void *context, const struct sockaddr *from, const uint8_t *bytes,
                        size_t size)
{
    (void)context;
    (void)from;
    (void)bytes;
    (void)size;
}

static void assert_received(int viewer, unsigned sequence)
{
    struct pollfd wait = {.fd = viewer, .events = POLLIN};
    uint8_t bytes[2048];

    assert_int_equal(poll(&wait, 1, (int)(PATIENCE_NS / NS_PER_MS)), 1);
    assert_int_equal(recv(viewer, bytes, sizeof bytes, 0), RTP_HEADER_SIZE + PACKET_BYTES);
    assert_int_equal(bytes[2] << 8 | bytes[3], sequence);
}

TEST(test_packets_longer_than_the_mtu_arrive_all_the_same)
{
    const struct rtp_header header = {.payload_type = 96, .sequence = 7};
    struct sockaddr_storage address = {0};
    struct udp_sockets *sockets;
    struct transport *transport;
    struct poller *poller;

    if (make_network() < 0)
        SKIP("no network namespace can be made here");
    int viewer = bind_viewer(&address);
    uint16_t port = ntohs(((struct sockaddr_in *)&address)->sin_port);
    struct unit *unit = make_unit();
    assert_int_equal(poller_new(&poller), 0);
    assert_int_equal(
        udp_sockets_new(poller, &(struct sockaddr_storage){.ss_family = AF_INET}, &sockets), 0);
    assert_int_equal(transport_udp_new(sockets, NULL, &address, port, (uint16_t)(port ^ 1),
                                       ignore_rtcp, NULL, &transport),
                     0);
    assert_int_equal(transport->ops->send(transport, &header, unit, 0), PACKETS);
    for (unsigned i = 0; i < PACKETS; i++)
        assert_received(viewer, 7 + i);
    transport->ops->free(transport);
    unit_unref(unit);
    udp_sockets_free(sockets);
    poller_free(poller);
    close(viewer);
}

RUN_TESTS(NULL, NULL)
