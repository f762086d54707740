// Packets and reports of two viewers by UDP on the loopback device, played by the test.
#include "tests/unit/stopwatch.h"
#include "tests/unit/unit.h"

#include "daemon/front/stream/transport_udp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <glib.h>
#include <limits.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

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

static void on_rtcp(void *context, const struct sockaddr *from, const uint8_t *bytes, size_t size)
{
    struct client *client = context;

    (void)from;
    assert_in_range(size, 0, sizeof client->report);
    memcpy(client->report, bytes, size);
    client->report_size = size;
    client->reports++;
}

static void on_writable(void *context)
{
    ((struct client *)context)->writables++;
}

// A socket on any port of `address`, a numeric IPv4 address.
static int bind_to(const char *address, uint16_t *ret_port)
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

static void begin(struct fixture *fixture, struct client *client)
{
    assert_int_equal(transport_udp_new(fixture->sockets, &fixture->source, &fixture->address,
                                       client->rtp_port, client->rtcp_port, on_rtcp, client,
                                       &client->transport),
                     0);
    client->transport->writable = on_writable;
    client->transport->context = client;
}

// An address of IPv4, for sockets of either family.
static struct sockaddr_storage make_address(int family, const char *text)
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

static int set_up_family(void **state, int family)
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

static int set_up(void **state)
{
    return set_up_family(state, AF_INET);
}

static int set_up_dual(void **state)
{
    return set_up_family(state, AF_INET6);
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_LENGTH(fixture->clients); i++) {
        if (fixture->clients[i].transport)
            fixture->clients[i].transport->ops->free(fixture->clients[i].transport);
        close(fixture->clients[i].rtp);
        close(fixture->clients[i].rtcp);
    }
    udp_sockets_free(fixture->sockets);
    poller_free(fixture->poller);
    free(fixture);
    return 0;
}

#define PACKETS 100u

// The next answer of sendmmsg(), instead of sending: -errno; 0: it sends `message_limit` messages.
static int (*answer)(const struct mmsghdr *messages);
static unsigned message_limit = UINT_MAX, calls;

int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
    int r = answer ? answer(messages) : 0;

    calls++;
    if (r < 0) {
        errno = -r;
        return -1;
    }
    return (int)syscall(SYS_sendmmsg, fd, messages, MIN(count, message_limit), flags);
}

static const char *sender = SOURCE; // where packets are to come from

static int tear_down_answers(void **state)
{
    answer = NULL;
    sender = SOURCE;
    message_limit = UINT_MAX;
    return tear_down(state);
}

// Sizes of the packets' bodies: runs of one size, some with a shorter or longer one behind.
static size_t body_size(unsigned packet)
{
    return packet < 50 ? 1398 : packet == 50 ? 7 : packet < 60 ? 300 : packet < 62 ? 1 : packet * 3;
}

static struct unit *make_unit(void)
{
    size_t size = 0, offset = 0;
    struct unit *unit;

    for (unsigned i = 0; i < PACKETS; i++)
        size += body_size(i);
    struct unit_source source = {.memory = malloc(size), .size = size};
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)source.memory)[i] = (uint8_t)(i * 7 + i / 256);
    assert_int_equal(unit_new(&source, &unit), 0);
    for (unsigned i = 0; i < PACKETS; i++) { // those of 1398 bytes have a head, one of 62 too
        const uint8_t head[] = {0x7c, (uint8_t)i};
        bool has_head = i < 50 || i == 62;

        unit_add_packet(unit, has_head ? head : NULL, has_head ? 2 : 0, offset, body_size(i));
        offset += body_size(i);
    }
    return unit;
}

// The next datagram is packet `i` of the unit, sent with sequence number 65500 + i.
static void assert_receives(const struct client *client, const struct unit *unit, unsigned i)
{
    const uint16_t sequence = (uint16_t)(65500 + i);
    const uint8_t header[] = {0x80,
                              i + 1 == PACKETS ? 0x80 | 96 : 96,
                              (uint8_t)(sequence >> 8),
                              (uint8_t)sequence,
                              0x11,
                              0x22,
                              0x33,
                              0x44,
                              0xaa,
                              0xbb,
                              0xcc,
                              0xdd};
    const struct unit_packet *packet = &unit->packets[i];
    struct pollfd wait = {.fd = client->rtp, .events = POLLIN};
    struct sockaddr_in from;
    socklen_t from_size = sizeof from;
    uint8_t bytes[2048];

    assert_int_equal(poll(&wait, 1, (int)(PATIENCE_NS / NS_PER_MS)), 1);
    assert_int_equal(
        recvfrom(client->rtp, bytes, sizeof bytes, 0, (struct sockaddr *)&from, &from_size),
        12 + packet->head_size + packet->size);
    assert_string_equal(inet_ntoa(from.sin_addr), sender);
    assert_memory_equal(bytes, header, 12);
    if (packet->head_size)
        assert_memory_equal(bytes + 12, unit_packet_head(unit, packet), packet->head_size);
    assert_memory_equal(bytes + 12 + packet->head_size, unit->bytes + packet->offset, packet->size);
}

static int send_from(const struct client *client, const struct unit *unit, unsigned from)
{
    const struct rtp_header header = {.payload_type = 96,
                                      .sequence = (uint16_t)(65500 + from),
                                      .timestamp = 0x11223344,
                                      .ssrc = 0xaabbccdd};

    return client->transport->ops->send(client->transport, &header, unit, from);
}

static void assert_all_arrive(struct fixture *fixture)
{
    struct unit *unit = make_unit();
    uint8_t byte;

    assert_int_equal(send_from(&fixture->clients[0], unit, 0), PACKETS);
    for (unsigned i = 0; i < PACKETS; i++)
        assert_receives(&fixture->clients[0], unit, i);
    assert_int_equal(recv(fixture->clients[0].rtp, &byte, 1, MSG_DONTWAIT), -1);
    assert_int_equal(recv(fixture->clients[1].rtp, &byte, 1, MSG_DONTWAIT), -1);
    unit_unref(unit);
}

TEST(test_packets_arrive_whole, set_up, tear_down_answers)
{
    calls = 0;
    assert_all_arrive(*state);
    assert_in_range(calls, 2, 4); // 64 packets a call
}

TEST(test_packets_of_a_socket_for_both_families_arrive_whole, set_up_dual, tear_down_answers)
{
    assert_all_arrive(*state);
}

static bool has_control(const struct mmsghdr *messages, int level)
{
    struct msghdr message = messages[0].msg_hdr;
    struct cmsghdr *control = CMSG_FIRSTHDR(&message);

    while (control && control->cmsg_level != level)
        control = CMSG_NXTHDR(&message, control);
    return control;
}

static int refuse_segments(const struct mmsghdr *messages)
{
    return has_control(messages, SOL_UDP) ? -EIO : 0;
}

// As a device that encrypts.
TEST(test_packets_arrive_whole_where_the_kernel_cannot_cut_them, set_up, tear_down_answers)
{
    answer = refuse_segments;
    assert_all_arrive(*state);
}

static int refuse_source(const struct mmsghdr *messages)
{
    return has_control(messages, IPPROTO_IP) ? -EINVAL : 0;
}

TEST(test_packets_arrive_whole_where_the_address_has_gone, set_up, tear_down_answers)
{
    answer = refuse_source;
    sender = "127.0.0.1";
    assert_all_arrive(*state);
}

TEST(test_packets_arrive_whole_where_few_are_taken_a_call, set_up, tear_down_answers)
{
    message_limit = 1;
    assert_all_arrive(*state);
}

static int block(const struct mmsghdr *messages)
{
    (void)messages;
    return -EAGAIN;
}

static int block_after_first(const struct mmsghdr *messages)
{
    answer = block;
    message_limit = 1;
    (void)messages;
    return 0;
}

// Runs the main loop until the sockets have called somebody.
static void wait_writable(const struct client *client)
{
    int64_t begin_ns = clock_now_ns();

    for (; client->writables == 0; g_main_context_iteration(NULL, TRUE))
        assert_true(clock_now_ns() - begin_ns < PATIENCE_NS);
}

TEST(test_one_that_would_block_goes_on_when_there_is_room, set_up, tear_down_answers)
{
    struct fixture *fixture = *state;
    struct client *client = &fixture->clients[0], *other = &fixture->clients[1];
    struct unit *unit = make_unit();

    answer = block_after_first;
    int taken = send_from(client, unit, 0);
    assert_in_range(taken, 1, 50);
    assert_int_equal(send_from(client, unit, (unsigned)taken), 0); // asks twice, is called once
    answer = NULL;
    message_limit = UINT_MAX;
    assert_int_equal(client->writables, 0); // not from within
    wait_writable(client);
    assert_int_equal(client->writables, 1);
    assert_int_equal(other->writables, 0);
    assert_int_equal(send_from(client, unit, (unsigned)taken), (int)PACKETS - taken);
    for (unsigned i = 0; i < PACKETS; i++)
        assert_receives(client, unit, i);
    unit_unref(unit);
}

TEST(test_one_that_goes_while_it_waits_is_not_called, set_up, tear_down_answers)
{
    struct fixture *fixture = *state;
    struct client *client = &fixture->clients[0], *other = &fixture->clients[1];
    struct unit *unit = make_unit();

    answer = block;
    assert_int_equal(send_from(client, unit, 0), 0);
    assert_int_equal(send_from(other, unit, 0), 0);
    client->transport->ops->free(client->transport);
    client->transport = NULL;
    wait_writable(other);
    assert_int_equal(client->writables, 0);
    other->writables = send_from(other, unit, 0); // waits once more
    wait_writable(other);
    unit_unref(unit);
}

static int lose(const struct mmsghdr *messages)
{
    (void)messages;
    return -EHOSTUNREACH;
}

// Nothing waits for a route that is gone.
TEST(test_what_has_no_route_is_lost, set_up, tear_down_answers)
{
    struct unit *unit = make_unit();

    answer = lose;
    assert_int_equal(send_from(&((struct fixture *)*state)->clients[0], unit, 0), PACKETS);
    unit_unref(unit);
}

static void send_report(const struct fixture *fixture, int fd, const char *text)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    to.sin_port = htons((uint16_t)(udp_sockets_port(fixture->sockets) + 1));
    assert_int_equal(sendto(fd, text, strlen(text), 0, (struct sockaddr *)&to, sizeof to),
                     strlen(text));
}

// Packets sent before the second client's report number `count` have been read then.
static void wait_reports(const struct fixture *fixture, unsigned count)
{
    int64_t begin_ns = clock_now_ns();

    for (; fixture->clients[1].reports < count; g_main_context_iteration(NULL, TRUE))
        assert_true(clock_now_ns() - begin_ns < PATIENCE_NS);
}

TEST(test_reports_count_from_their_own_address_alone, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct client *client = &fixture->clients[0], *other = &fixture->clients[1];
    uint16_t port = 0;
    int stranger = bind_to("127.0.0.1", &port);
    int same_port = bind_to("127.0.0.2", &client->rtcp_port);

    send_report(fixture, stranger, "stranger");
    send_report(fixture, same_port, "same port");
    send_report(fixture, client->rtp, "RTP port");
    send_report(fixture, other->rtcp, "other");
    wait_reports(fixture, 1);
    assert_int_equal(client->reports, 0);
    assert_int_equal(other->report_size, 5);
    assert_memory_equal(other->report, "other", 5);

    send_report(fixture, client->rtcp, "mine");
    send_report(fixture, client->rtcp, ""); // a datagram of nothing
    send_report(fixture, other->rtcp, "again");
    wait_reports(fixture, 2);
    assert_int_equal(client->reports, 2);
    assert_memory_equal(client->report, "mine", 4);
    assert_int_equal(client->report_size, 0);

    client->transport->ops->free(client->transport);
    client->transport = NULL;
    send_report(fixture, client->rtcp, "too late");
    send_report(fixture, other->rtcp, "once more");
    wait_reports(fixture, 3);
    assert_int_equal(client->reports, 2);
    close(stranger);
    close(same_port);
}

TEST(test_reports_go_to_the_rtcp_port, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct client *client = &fixture->clients[0];
    struct sockaddr_in from;
    socklen_t size = sizeof from;
    uint8_t bytes[100];

    client->transport->ops->send_rtcp(client->transport, (const uint8_t *)"report", 6);
    assert_int_equal(
        recvfrom(client->rtcp, bytes, sizeof bytes, 0, (struct sockaddr *)&from, &size), 6);
    assert_memory_equal(bytes, "report", 6);
    assert_string_equal(inet_ntoa(from.sin_addr), SOURCE);
    assert_int_equal(ntohs(from.sin_port), udp_sockets_port(fixture->sockets) + 1);
    assert_int_equal(udp_sockets_port(fixture->sockets) % 2, 0); // RFC 3550, section 11
}

RUN_TESTS(NULL, NULL)
