// Packets by UDP on the loopback device. The kernel's answers to sendmmsg(2) are the test's to
// choose.
#include "tests/unit/daemon/transport_udp_bed.h"

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>

#define PACKETS 100u

// What sendmmsg() says next instead of sending: -errno; 0: it sends `message_limit` messages.
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

    for (unsigned i = 0; i < PACKETS; i++) {
        size += body_size(i);
    }
    struct unit_source source = {.memory = malloc(size), .size = size};
    for (size_t i = 0; i < size; i++) {
        ((uint8_t *)source.memory)[i] = (uint8_t)(i * 7 + i / 256);
    }
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
    if (packet->head_size) {
        assert_memory_equal(bytes + 12, unit_packet_head(unit, packet), packet->head_size);
    }
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
    for (unsigned i = 0; i < PACKETS; i++) {
        assert_receives(&fixture->clients[0], unit, i);
    }
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

    while (control && control->cmsg_level != level) {
        control = CMSG_NXTHDR(&message, control);
    }
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

    for (; client->writables == 0; g_main_context_iteration(NULL, TRUE)) {
        assert_true(clock_now_ns() - begin_ns < PATIENCE_NS);
    }
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
    for (unsigned i = 0; i < PACKETS; i++) {
        assert_receives(client, unit, i);
    }
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

RUN_TESTS(NULL, NULL)
