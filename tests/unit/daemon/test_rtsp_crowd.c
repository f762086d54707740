// What one of many connections may take from the others: time of the main loop for its handshake,
// and memory for what it sends.
#include "tests/unit/daemon/rtsp_connection_bed.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define NEWCOMERS 20
#define STEPS 2 // of a handshake, each of which needs a message of the client's

// A wire whose handshake costs much, which is all that happens on it.
struct newcomer {
    struct connection *connection;
    int fd, client;
    unsigned steps;
};

static unsigned all_steps;

static int step(void *channel)
{
    struct newcomer *newcomer = channel;
    char message;

    if (newcomer->steps < STEPS && read(newcomer->fd, &message, 1) == 1) {
        newcomer->steps++;
        all_steps++;
    }
    return newcomer->steps < STEPS ? -EAGAIN : 0;
}

static bool never(void *channel)
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

static void close_newcomer(void *channel)
{
    close(((const struct newcomer *)channel)->fd);
}

static const struct wire_ops costly = {.name = "test",
                                       .encrypted = true,
                                       .handshake = step,
                                       .wants_write = never,
                                       .has_unread = never,
                                       .read = read_nothing,
                                       .free = close_newcomer};

// A crowd, each of which has sent all of its messages.
static void connect_newcomers(struct fixture *fixture, struct newcomer *newcomers)
{
    const struct sockaddr_storage peer = {.ss_family = AF_INET};

    all_steps = 0;
    for (unsigned i = 0; i < NEWCOMERS; i++) {
        struct newcomer *newcomer = &newcomers[i];
        struct wire *wire;
        int fds[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds),
                         0);
        *newcomer = (struct newcomer){.fd = fds[0], .client = fds[1]};
        assert_int_equal(write(newcomer->client, "xx", STEPS), STEPS);
        assert_int_equal(wire_new(&costly, newcomer, newcomer->fd, &wire), 0);
        assert_int_equal(connection_new(&fixture->service, wire, &peer, &newcomer->connection), 0);
    }
}

static void disconnect_newcomers(struct newcomer *newcomers)
{
    for (unsigned i = 0; i < NEWCOMERS; i++) {
        connection_free(newcomers[i].connection);
        close(newcomers[i].client);
    }
}

TEST(test_a_crowd_shakes_hands_one_by_one_while_others_are_served, set_up, tear_down)
{
    static const char request[] = "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n";
    struct fixture *fixture = *state;
    struct newcomer newcomers[NEWCOMERS];
    char reply[2000];

    fixture->service.limits.requests_a_second = INT_MAX; // a slow crowd takes many turns
    connect_newcomers(fixture, newcomers);
    while (all_steps < NEWCOMERS * STEPS) {
        unsigned before = all_steps;

        assert_true(clock_now_ns() - fixture->begin_ns < PATIENCE_NS);
        assert_int_equal(send(fixture->client, request, strlen(request), MSG_NOSIGNAL),
                         strlen(request));
        g_main_context_iteration(NULL, FALSE);
        assert_in_range(all_steps - before, 0, 1);
        assert_true(recv(fixture->client, reply, sizeof reply, 0) > 0);
    }
    for (unsigned i = 0; i < NEWCOMERS; i++) {
        assert_true(newcomers[i].connection->handshake_done);
    }
    disconnect_newcomers(newcomers);
}

TEST(test_who_leaves_before_its_turn_has_none, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct newcomer newcomers[NEWCOMERS];

    connect_newcomers(fixture, newcomers);
    shutdown(newcomers[NEWCOMERS - 1].client, SHUT_RDWR);
    while (!newcomers[NEWCOMERS - 1].connection->ended) {
        assert_true(clock_now_ns() - fixture->begin_ns < PATIENCE_NS);
        g_main_context_iteration(NULL, FALSE);
    }
    assert_int_equal(newcomers[NEWCOMERS - 1].steps, 0);
    disconnect_newcomers(newcomers);
    all_steps = 0;
    while (g_main_context_iteration(NULL, FALSE)) {
    }
    assert_int_equal(all_steps, 0);
}

// A DESCRIBE waits for a picture. What the client sends meanwhile stays in the kernel.
TEST(test_little_is_kept_behind_a_request_that_waits, set_up, tear_down)
{
    static const char describe[] = "DESCRIBE rtsp://host/front/edges RTSP/1.0\r\nCSeq: 1\r\n\r\n";
    static const char packet[4 + 8000] = {'$', 1, 8000 >> 8, 8000 & 0xff};
    struct fixture *fixture = *state;

    assert_int_equal(send(fixture->client, describe, strlen(describe), MSG_NOSIGNAL),
                     strlen(describe));
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(send(fixture->client, packet, sizeof packet, MSG_NOSIGNAL), sizeof packet);
    }
    while (!fixture->connection->wait) {
        assert_true(clock_now_ns() - fixture->begin_ns < PATIENCE_NS);
        g_main_context_iteration(NULL, FALSE);
    }
    assert_in_range(fixture->connection->unread->len, 1, CONNECTION_UNREAD_MAX);
}

RUN_TESTS(NULL, NULL)
