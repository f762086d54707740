// A connection's byte stream: whatever the socket takes at a time, packets and replies stay whole.
#include "tests/unit/unit.h"

#include "config/base.h"
#include "daemon/front/rtsp/transport_interleaved.h"
#include "daemon/front/rtsp/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/socket.h>

// The other end of a wire: takes as many bytes as it has room for.
struct sink {
    size_t room;
    int error; // what every write fails with; 0: none
    GByteArray *taken;
    unsigned blocked;
    bool freed;
};

static int shake(void *channel)
{
    (void)channel;
    return 0;
}

static bool wants_write(void *channel)
{
    (void)channel;
    return false;
}

static ssize_t read_nothing(void *channel, void *bytes, size_t size)
{
    (void)channel;
    (void)bytes;
    (void)size;
    return -EAGAIN;
}

static ssize_t take(void *channel, const struct iovec *parts, int count)
{
    struct sink *sink = channel;
    ssize_t taken = 0;

    for (int i = 0; i < count && sink->error == 0; i++) {
        size_t size = MIN(sink->room, parts[i].iov_len);

        g_byte_array_append(sink->taken, parts[i].iov_base, (guint)size);
        sink->room -= size;
        taken += (ssize_t)size;
    }
    return sink->error ? sink->error : count > 0 && taken == 0 ? -EAGAIN : taken;
}

static void free_sink(void *channel)
{
    ((struct sink *)channel)->freed = true;
}

static const struct wire_ops sink_ops = {
    .name = "sink",
    .handshake = shake,
    .wants_write = wants_write,
    .read = read_nothing,
    .writev = take,
    .free = free_sink,
};

static void on_blocked(void *context)
{
    ((struct sink *)context)->blocked++;
}

static struct wire *open_sink(struct sink *sink, size_t room)
{
    struct wire *wire;

    *sink = (struct sink){.room = room, .taken = g_byte_array_new()};
    assert_int_equal(wire_new(&sink_ops, sink, -1, &wire), 0);
    wire_on_blocked(wire, on_blocked, sink);
    return wire;
}

static void close_sink(struct sink *sink, struct wire *wire)
{
    wire_free(wire);
    assert_true(sink->freed);
    g_byte_array_unref(sink->taken);
}

static void assert_taken(const struct sink *sink, const void *bytes, size_t size)
{
    assert_int_equal(sink->taken->len, size);
    assert_memory_equal(sink->taken->data, bytes, size);
}

// Three packets of three parts, of which some are empty: "<aa>", "<bbb>" and "<c>".
#define PARTS 3
#define PACKETS 3
static struct iovec packets[PARTS * PACKETS] = {
    {"<", 1}, {"aa", 2}, {">", 1}, {"<", 1}, {NULL, 0}, {"bbb>", 4}, {"<", 1}, {"c", 1}, {">", 1},
};
static const char all_packets[] = "<aa><bbb><c>";

TEST(test_packets_are_completed_wherever_the_socket_cuts_them)
{
    for (size_t room = 0; room <= strlen(all_packets); room++) {
        struct sink sink;
        struct wire *wire = open_sink(&sink, room);

        int taken = wire_send_packets(wire, packets, PARTS, PACKETS);
        assert_in_range(taken, 0, PACKETS);
        assert_int_equal(wire_wants_write(wire), taken < PACKETS || room < strlen(all_packets));
        assert_int_equal(sink.blocked > 0, wire_wants_write(wire));
        sink.room = SIZE_MAX;
        assert_int_equal(
            wire_send_packets(wire, packets + (ptrdiff_t)taken * PARTS, PARTS, PACKETS - taken),
            PACKETS - taken);
        assert_false(wire_wants_write(wire));
        assert_taken(&sink, all_packets, strlen(all_packets));
        close_sink(&sink, wire);
    }
}

TEST(test_packets_are_completed_byte_by_byte)
{
    struct sink sink;
    struct wire *wire = open_sink(&sink, 1);
    int taken = 0;

    while (taken < PACKETS || wire_wants_write(wire)) {
        int r = wire_send_packets(wire, packets + (ptrdiff_t)taken * PARTS, PARTS, PACKETS - taken);

        assert_in_range(r, 0, 1);
        taken += r;
        sink.room = 1;
    }
    assert_taken(&sink, all_packets, strlen(all_packets));
    close_sink(&sink, wire);
}

TEST(test_a_reply_waits_for_the_packet_that_was_begun)
{
    for (size_t room = 0; room <= strlen(all_packets); room++) {
        struct sink sink;
        struct wire *wire = open_sink(&sink, room);

        int taken = wire_send_packets(wire, packets, PARTS, PACKETS);
        assert_int_equal(wire_send(wire, "reply", 5), 0);
        sink.room = SIZE_MAX;
        assert_int_equal(
            wire_send_packets(wire, packets + (ptrdiff_t)taken * PARTS, PARTS, PACKETS - taken),
            PACKETS - taken);
        g_byte_array_append(sink.taken, (const guint8 *)"", 1);
        char *bytes = (char *)sink.taken->data;
        char *reply = strstr(bytes, "reply");
        assert_non_null(reply);
        assert_true(reply == bytes || reply[-1] == '>');
        memmove(reply, reply + 5, strlen(reply + 5) + 1);
        assert_string_equal(bytes, all_packets);
        close_sink(&sink, wire);
    }
}

TEST(test_replies_wait_in_their_order)
{
    struct sink sink;
    struct wire *wire = open_sink(&sink, 2);

    assert_int_equal(wire_send(wire, "one", 3), 0);
    assert_int_equal(wire_send(wire, "two", 3), 0);
    assert_int_equal(wire_flush(wire), -EAGAIN);
    assert_true(wire_wants_write(wire));
    sink.room = SIZE_MAX;
    assert_int_equal(wire_flush(wire), 0);
    assert_false(wire_wants_write(wire));
    assert_taken(&sink, "onetwo", 6);
    close_sink(&sink, wire);
}

// One that always asks for more than it has read: there is no moment at which nothing waits.
TEST(test_replies_are_sent_once_while_some_always_wait)
{
    struct sink sink;
    struct wire *wire = open_sink(&sink, 0);

    for (uint32_t i = 0; i < 100000; i++) {
        sink.room = i ? sizeof i : 2; // half a reply behind
        assert_int_equal(wire_send(wire, &i, sizeof i), 0);
        assert_true(wire_wants_write(wire));
    }
    sink.room = SIZE_MAX;
    assert_int_equal(wire_flush(wire), 0);
    assert_int_equal(sink.taken->len, 100000 * sizeof(uint32_t));
    for (uint32_t i = 0; i < 100000; i++)
        assert_memory_equal(sink.taken->data + i * sizeof i, &i, sizeof i);
    close_sink(&sink, wire);
}

// A client that asks and never reads is told nothing any more, rather than kept in memory.
TEST(test_what_waits_is_bounded)
{
    static const char reply[1000];
    struct sink sink;
    struct wire *wire = open_sink(&sink, 0);
    size_t sent = 0;
    int r;

    while ((r = wire_send(wire, reply, sizeof reply)) == 0) {
        sent += sizeof reply;
        assert_true(sent < 1000000);
    }
    assert_int_equal(r, -ENOBUFS);
    sink.room = SIZE_MAX;
    assert_int_equal(wire_flush(wire), 0);
    assert_int_equal(sink.taken->len, sent);
    close_sink(&sink, wire);
}

TEST(test_a_failed_connection_is_told)
{
    struct sink sink;
    struct wire *wire = open_sink(&sink, 5);

    assert_int_equal(wire_send_packets(wire, packets, PARTS, PACKETS), 2);
    sink.error = -ECONNRESET;
    assert_int_equal(wire_flush(wire), -ECONNRESET);
    assert_int_equal(wire_send(wire, "reply", 5), -ECONNRESET);
    assert_int_equal(wire_send_packets(wire, packets, PARTS, PACKETS), -ECONNRESET);
    close_sink(&sink, wire);
}

TEST(test_a_plain_wire_carries_bytes_both_ways_until_its_end)
{
    int fds[2];
    char bytes[8];
    struct wire *wire;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    assert_int_equal(wire_new_plain(fds[0], &wire), 0);
    assert_int_equal(wire_fd(wire), fds[0]);
    assert_false(wire_kind(wire)->encrypted);
    assert_null(wire_kind(wire)->handshake);
    assert_int_equal(wire_read(wire, bytes, sizeof bytes), -EAGAIN);
    assert_int_equal(write(fds[1], "ask", 3), 3);
    assert_int_equal(wire_read(wire, bytes, sizeof bytes), 3);
    assert_memory_equal(bytes, "ask", 3);
    assert_int_equal(wire_send(wire, "tell", 4), 0);
    assert_int_equal(read(fds[1], bytes, sizeof bytes), 4);
    assert_memory_equal(bytes, "tell", 4);
    close(fds[1]);
    assert_int_equal(wire_read(wire, bytes, sizeof bytes), 0);
    assert_int_equal(wire_send(wire, "tell", 4), -EPIPE); // and no SIGPIPE
    wire_free(wire);
    assert_int_equal(fcntl(fds[0], F_GETFD), -1);
}

// A unit of `count` packets of four bytes: "h" and then three of its bytes.
static struct unit *make_unit(unsigned count)
{
    const struct unit_source source = {.memory = g_malloc(count * 3), .size = (size_t)count * 3};
    struct unit *unit;

    memset(source.memory, 'u', source.size);
    assert_int_equal(unit_new(&source, &unit), 0);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(unit_add_packet(unit, "h", 1, (size_t)i * 3, 3), 0);
    return unit;
}

// Frames by RFC 2326, section 10.12, around the header of RFC 3550, section 5.1: the sequence
// number goes on, over its end too, and the marker is on the last.
TEST(test_packets_are_framed_with_their_channel_and_length)
{
    static const uint8_t expected[] = {
        '$', 6, 0,    16,   0x80, 0x60, 0xff, 0xff, 0x01, 0x02,
        3,   4, 0xca, 0xfe, 0xba, 0xbe, 'h',  'u',  'u',  'u', //
        '$', 6, 0,    16,   0x80, 0xe0, 0x00, 0x00, 0x01, 0x02,
        3,   4, 0xca, 0xfe, 0xba, 0xbe, 'h',  'u',  'u',  'u',
    };
    const struct rtp_header header = {
        .ssrc = 0xcafebabe, .timestamp = 0x01020304, .sequence = 0xffff, .payload_type = 96};

    for (size_t room = 0; room <= sizeof expected; room++) {
        struct sink sink;
        struct wire *wire = open_sink(&sink, room);
        struct transport *transport = transport_interleaved_new(wire, 6, 7);
        struct unit *unit = make_unit(2);
        struct rtp_header next = header;

        int taken = transport->ops->send(transport, &next, unit, 0);
        assert_in_range(taken, 0, 2);
        sink.room = SIZE_MAX;
        next.sequence = (uint16_t)(next.sequence + taken);
        if (taken < 2) {
            assert_int_equal(transport->ops->send(transport, &next, unit, (unsigned)taken),
                             2 - taken);
        }
        wire_flush(wire);
        assert_taken(&sink, expected, sizeof expected);
        unit_unref(unit);
        transport->ops->free(transport);
        close_sink(&sink, wire);
    }
}

TEST(test_units_of_many_packets_are_sent_in_order)
{
    const unsigned count = 1000;
    const size_t size = 4 + 12 + 4;
    const struct rtp_header header = {.sequence = 65000, .payload_type = 96};
    struct sink sink;
    struct wire *wire = open_sink(&sink, SIZE_MAX);
    struct transport *transport = transport_interleaved_new(wire, 0, 1);
    struct unit *unit = make_unit(count);

    assert_int_equal(transport->ops->send(transport, &header, unit, 0), count);
    assert_int_equal(sink.taken->len, count * size);
    for (unsigned i = 0; i < count; i++) {
        const uint8_t *rtp = sink.taken->data + i * size + 4;

        assert_int_equal(rtp[2] << 8 | rtp[3], (65000 + i) % 65536);
        assert_int_equal(rtp[1] >> 7, i == count - 1);
    }
    unit_unref(unit);
    transport->ops->free(transport);
    close_sink(&sink, wire);
}

TEST(test_reports_have_a_channel_of_their_own_and_never_wait)
{
    static const uint8_t report[] = {0x80, 200, 0, 0}, expected[] = {'$', 7, 0, 4, 0x80, 200, 0, 0};
    struct sink sink;
    struct wire *wire = open_sink(&sink, 0);
    struct transport *transport = transport_interleaved_new(wire, 6, 7);

    transport->ops->send_rtcp(transport, report, sizeof report);
    sink.room = SIZE_MAX;
    assert_int_equal(wire_flush(wire), 0);
    assert_int_equal(sink.taken->len, 0); // dropped
    transport->ops->send_rtcp(transport, report, sizeof report);
    assert_taken(&sink, expected, sizeof expected);
    transport->ops->free(transport);
    close_sink(&sink, wire);
}

RUN_TESTS(NULL, NULL)
