// The boundary between the two programs: framing survives partial reads and writes, the queue is
// bounded, a broken peer is told apart from a quiet one.

#include "daemon/link/link.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/socket.h>

struct pair {
    struct link *a;
    int peer; // the other end, raw
};

struct seen {
    unsigned count;
    struct link_header headers[8];
    size_t bytes;
    uint8_t *taken; // payload of the last message, when taken
    bool take;
    int answer;
};

static int setup(void **state)
{
    struct pair *pair = calloc(1, sizeof *pair);
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    assert_int_equal(link_new(fds[0], 1 << 20, &pair->a), 0);
    pair->peer = fds[1];
    *state = pair;
    return 0;
}

static int teardown(void **state)
{
    struct pair *pair = *state;

    link_free(pair->a);
    if (pair->peer >= 0)
        close(pair->peer);
    free(pair);
    return 0;
}

static int remember(void *context, struct link_message *message)
{
    struct seen *seen = context;

    seen->headers[seen->count++ % 8] = message->header;
    seen->bytes += message->header.size;
    assert_int_equal(message->payload[message->header.size], 0);
    if (seen->take)
        seen->taken = TAKE(message->payload);
    return seen->answer;
}

TEST(test_pieces_arrive_as_one_message, setup, teardown)
{
    struct pair *pair = *state;
    struct iovec pieces[] = {{(void *)"ab", 2}, {NULL, 0}, {(void *)"cde", 3}};
    struct {
        struct link_header header;
        char payload[5];
    } wire;

    assert_int_equal(link_send(pair->a, LINK_SLATE, 3, pieces, 3), 0);
    assert_int_equal(read(pair->peer, &wire, sizeof wire), sizeof wire.header + 5);
    assert_int_equal(wire.header.type, LINK_SLATE);
    assert_int_equal(wire.header.view, 3);
    assert_int_equal(wire.header.size, 5);
    assert_memory_equal(wire.payload, "abcde", 5);
}

TEST(test_a_message_split_at_every_byte_is_put_together, setup, teardown)
{
    struct pair *pair = *state;
    struct {
        struct link_header header;
        char payload[4];
    } wire = {{.type = LINK_FATAL, .view = 0, .size = 4}, {'o', 'o', 'p', 's'}};
    struct seen seen = {.take = true};

    for (size_t i = 0; i < sizeof wire; i++) {
        assert_int_equal(seen.count, 0);
        assert_int_equal(write(pair->peer, (char *)&wire + i, 1), 1);
        assert_int_equal(link_receive(pair->a, remember, &seen), 0);
    }
    assert_int_equal(seen.count, 1);
    assert_string_equal((char *)seen.taken, "oops");
    free(seen.taken);
}

TEST(test_an_empty_payload_is_a_message, setup, teardown)
{
    struct pair *pair = *state;
    struct link_header headers[2] = {{.type = LINK_VIEW_START, .view = 1},
                                     {.type = LINK_KEY_FRAME, .view = 2}};
    struct seen seen = {0};

    assert_int_equal(write(pair->peer, headers, sizeof headers), sizeof headers);
    assert_int_equal(link_receive(pair->a, remember, &seen), 0);
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.headers[1].view, 2);
}

TEST(test_a_full_socket_queues_and_a_full_queue_refuses, setup, teardown)
{
    struct pair *pair = *state;
    static uint8_t payload[100000];
    unsigned sent = 0, events = 0;
    struct link *peer_link = NULL;
    struct seen seen = {0};
    int r;

    while ((r = link_send_bytes(pair->a, LINK_ACCESS_UNIT, 0, payload, sizeof payload)) == 0)
        sent++;
    assert_int_equal(r, -ENOBUFS);
    assert_in_range(sent, 10, 20); // 1 MiB of queue and what the socket holds
    assert_true(link_wants_write(pair->a));
    while ((r = link_send_bytes(pair->a, LINK_EVENT, 0, payload, 100)) == 0)
        events++;
    assert_int_equal(r, -ENOBUFS);
    assert_true(events >= 500); // in the room that is kept for them
    assert_int_equal(link_send_bytes(pair->a, LINK_TELEMETRY, 0, payload, 100), -ENOBUFS);

    assert_int_equal(link_new(TAKE_FD(pair->peer), 0, &peer_link), 0);
    while (link_wants_write(pair->a) || seen.count < sent + events) {
        assert_int_equal(link_flush(pair->a), 0);
        assert_int_equal(link_receive(peer_link, remember, &seen), 0);
    }
    assert_int_equal(seen.bytes, sent * sizeof payload + events * 100);
    link_free(peer_link);
}

static void count_wake(void *context)
{
    (*(unsigned *)context)++;
}

// Reads and throws away all that the link has sent and still sends.
static void drain(struct pair *pair)
{
    static uint8_t bytes[1 << 16];

    while (link_wants_write(pair->a)) {
        while (recv(pair->peer, bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
        }
        assert_int_equal(link_flush(pair->a), 0);
    }
}

TEST(test_jpegs_wait_beside_the_queue_up_to_a_bound_of_their_own, setup, teardown)
{
    struct pair *pair = *state;
    g_autofree uint8_t *bytes = g_malloc0(LINK_JPEGS_BYTES + (1 << 20));

    for (unsigned turn = 0; turn < 2; turn++) {
        // One alone may be larger than the bound.
        assert_int_equal(
            link_send_bytes(pair->a, LINK_JPEG, 1, bytes, LINK_JPEGS_BYTES + (1 << 20)), 0);
        assert_int_equal(link_send_bytes(pair->a, LINK_JPEG, 1, bytes, 1000), -ENOBUFS);
        assert_int_equal(link_send_bytes(pair->a, LINK_ACCESS_UNIT, 1, bytes, 1000000), 0);
        assert_int_equal(link_send_bytes(pair->a, LINK_ACCESS_UNIT, 1, bytes, 1000000), -ENOBUFS);
        drain(pair);
        // Several share it.
        assert_int_equal(link_send_bytes(pair->a, LINK_JPEG, 1, bytes, LINK_JPEGS_BYTES / 2), 0);
        assert_int_equal(link_send_bytes(pair->a, LINK_JPEG, 1, bytes, LINK_JPEGS_BYTES / 2), 0);
        assert_int_equal(link_send_bytes(pair->a, LINK_JPEG, 1, bytes, LINK_JPEGS_BYTES / 2),
                         -ENOBUFS);
        drain(pair);
    }
}

TEST(test_the_owner_is_woken_only_when_something_waits, setup, teardown)
{
    struct pair *pair = *state;
    static uint8_t payload[500000];
    unsigned wakes = 0;

    link_set_wake(pair->a, count_wake, &wakes);
    assert_int_equal(link_send_bytes(pair->a, LINK_HELLO, 0, "x", 1), 0);
    assert_int_equal(wakes, 0);
    assert_int_equal(link_send_bytes(pair->a, LINK_ACCESS_UNIT, 0, payload, sizeof payload), 0);
    assert_int_equal(wakes, 1);
}

TEST(test_a_closed_peer_is_epipe_on_both_ways, setup, teardown)
{
    struct pair *pair = *state;
    struct seen seen = {0};

    close(TAKE_FD(pair->peer));
    assert_int_equal(link_receive(pair->a, remember, &seen), -EPIPE);
    assert_int_equal(link_send_bytes(pair->a, LINK_HELLO, 0, "x", 1), -EPIPE);
}

TEST(test_malformed_headers_are_eproto, setup, teardown)
{
    static const struct link_header broken[] = {
        {.type = 0}, {.type = LINK_TYPE_COUNT}, {.type = LINK_SLATE, .size = LINK_PAYLOAD_MAX + 1}};

    for (size_t i = 0; i < ARRAY_LENGTH(broken); i++) {
        void *own = NULL;
        struct seen seen = {0};

        setup(&own);
        struct pair *pair = own;
        assert_int_equal(write(pair->peer, &broken[i], sizeof broken[i]), sizeof broken[i]);
        assert_int_equal(link_receive(pair->a, remember, &seen), -EPROTO);
        assert_int_equal(seen.count, 0);
        teardown(&own);
    }
}

TEST(test_oversized_messages_are_refused_before_sending, setup, teardown)
{
    struct pair *pair = *state;
    uint8_t byte = 0;

    assert_int_equal(link_send_bytes(pair->a, LINK_ACCESS_UNIT, 0, &byte, LINK_PAYLOAD_MAX + 1),
                     -EMSGSIZE);
    assert_int_equal(recv(pair->peer, &byte, 1, MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN);
}

TEST(test_a_handler_ends_receiving_and_nothing_is_lost, setup, teardown)
{
    struct pair *pair = *state;
    struct link_header headers[2] = {{.type = LINK_VIEW_START}, {.type = LINK_VIEW_STOP}};
    struct seen seen = {.answer = -ECANCELED};

    assert_int_equal(write(pair->peer, headers, sizeof headers), sizeof headers);
    assert_int_equal(link_receive(pair->a, remember, &seen), -ECANCELED);
    assert_int_equal(seen.count, 1);
    seen.answer = 0;
    assert_int_equal(link_receive(pair->a, remember, &seen), 0);
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.headers[1].type, LINK_VIEW_STOP);
}

// A sender without end gets no more than one turn of the reader's loop at a time.
TEST(test_a_turn_is_bounded_in_messages_and_bytes, setup, teardown)
{
    static const struct link_header headers[3 * LINK_TURN_MESSAGES / 2] = {
        [0 ... 3 * LINK_TURN_MESSAGES / 2 - 1] = {.type = LINK_KEY_FRAME}};
    static uint8_t payload[LINK_TURN_BYTES / 2 + 1];
    struct pair *pair = *state;
    struct seen seen = {0};
    struct link *peer;

    assert_int_equal(write(pair->peer, headers, sizeof headers), sizeof headers);
    assert_int_equal(link_receive(pair->a, remember, &seen), 0);
    assert_int_equal(seen.count, LINK_TURN_MESSAGES);
    assert_int_equal(link_receive(pair->a, remember, &seen), 0);
    assert_int_equal(seen.count, ARRAY_LENGTH(headers));

    int bytes = 3 * sizeof payload;
    if (setsockopt(pair->peer, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes)) {
        return; // only root has a socket that holds more than a turn
    }
    assert_int_equal(link_new(TAKE_FD(pair->peer), sizeof payload, &peer), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(link_send_bytes(peer, LINK_SLATE, 0, payload, sizeof payload), 0);
    assert_false(link_wants_write(peer));
    seen = (struct seen){0};
    assert_int_equal(link_receive(pair->a, remember, &seen), 0);
    assert_in_range(seen.bytes, 1, LINK_TURN_BYTES);
    link_free(peer);
}

RUN_TESTS(NULL, NULL)
