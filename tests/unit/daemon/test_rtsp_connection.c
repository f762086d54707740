// One connection of the RTSP server over a socket whose other end is the test's, with a stream,
// "/front/edges": what time does to it, told to it in the ticks of the test, and what one of many
// may take from the others.
#include "tests/unit/stopwatch.h"
#include "tests/unit/unit.h"

#include "daemon/front/rtsp/connection.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct fixture {
    struct config *config;
    struct account *account;
    struct rtsp_service service;
    struct mount mount;
    struct connection *connection;
    int client;
    int64_t begin_ns;
};

static int set_up(void **state)
{
    struct sockaddr_storage peer = {.ss_family = AF_INET};
    struct fixture *fixture = calloc(1, sizeof *fixture);
    struct error error = {0};
    struct wire *wire;
    int fds[2];

    ((struct sockaddr_in *)&peer)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    // A group of this process's own, which no other test sends to.
    g_autofree char *text =
        g_strdup_printf("rtsp = { port = 0; multicast = { addresses = \"239.254.%d.%d\"; }; };",
                        getpid() >> 8 & 0xff, getpid() & 0xff);
    assert_int_equal(config_parse(text, "test.conf", stderr, &fixture->config), 0);
    assert_int_equal(account_new(fixture->config, NULL, &error, &fixture->account), 0);
    assert_int_equal(stream_new("/front/edges", &payload_h264, 4000, &fixture->mount.stream), 0);
    fixture->service = (struct rtsp_service){.account = fixture->account,
                                             .mounts = g_hash_table_new(g_str_hash, g_str_equal),
                                             .limits = fixture->config->rtsp.limits};
    assert_int_equal(poller_new(&fixture->service.poller), 0);
    fixture->service.multicast = multicast_new(fixture->service.poller, fixture->config);
    g_hash_table_insert(fixture->service.mounts, (char *)"/front/edges", &fixture->mount);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    fixture->client = fds[1];
    assert_int_equal(wire_new_plain(fds[0], &wire), 0);
    assert_int_equal(connection_new(&fixture->service, wire, &peer, &fixture->connection), 0);
    fixture->begin_ns = clock_now_ns();
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    connection_free(fixture->connection);
    while (g_main_context_iteration(NULL, FALSE)) {
    }
    assert_int_equal(fixture->service.session_count, 0);
    g_hash_table_unref(fixture->service.mounts);
    multicast_free(fixture->service.multicast);
    udp_sockets_free(fixture->service.udp);
    poller_free(fixture->service.poller);
    stream_unref(fixture->mount.stream);
    account_free(fixture->account);
    config_free(fixture->config);
    close(fixture->client);
    free(fixture);
    return 0;
}

// Sends "METHOD …" with `lines`, and returns the status of the reply, which is put into `ret_reply`
// (of 2000 bytes).
static int ask(struct fixture *fixture, const char *method, const char *lines, char *ret_reply)
{
    g_autofree char *request =
        g_strdup_printf("%s rtsp://host/front/edges RTSP/1.0\r\nCSeq: 7\r\n%s\r\n", method, lines);
    ssize_t size = -1;
    int status = 0;

    assert_int_equal(send(fixture->client, request, strlen(request), MSG_NOSIGNAL),
                     strlen(request));
    while (size < 0) {
        assert_true(clock_now_ns() - fixture->begin_ns < PATIENCE_NS);
        g_main_context_iteration(NULL, FALSE);
        size = recv(fixture->client, ret_reply, 1999, 0);
    }
    ret_reply[size] = '\0';
    const char *line = strstr(ret_reply, "RTSP/1.0 ");
    assert_non_null(line);
    assert_int_equal(sscanf(line, "RTSP/1.0 %d", &status), 1);
    return status;
}

// Returns the line "Session: …" (g_free).
static char *ask_set_up(struct fixture *fixture, const char *transport)
{
    char reply[2000];

    assert_int_equal(ask(fixture, "SETUP", transport, reply), 200);
    const char *session = strstr(reply, "Session: ");
    return g_strdup_printf("%.*s\r\n", (int)strcspn(session, ";\r"), session);
}

static bool lasts(struct fixture *fixture, double seconds)
{
    connection_tick(fixture->connection, fixture->begin_ns + (int64_t)(seconds * (double)NS_PER_S));
    return !fixture->connection->ended;
}

TEST(test_one_that_never_plays_is_closed_after_10_s, set_up, tear_down)
{
    assert_true(lasts(*state, 1));
    assert_true(lasts(*state, 9)); // 1 s for what set_up() did
    assert_false(lasts(*state, 10));
}

TEST(test_the_tick_before_its_end_tells_when_that_is, set_up, tear_down)
{
    struct fixture *fixture = *state;
    int64_t due_ns = connection_tick(fixture->connection, fixture->begin_ns + 93 * (NS_PER_S / 10));

    assert_false(fixture->connection->ended);
    assert_in_range(due_ns, fixture->begin_ns + 9 * NS_PER_S, fixture->begin_ns + 10 * NS_PER_S);
    connection_tick(fixture->connection, due_ns);
    assert_true(fixture->connection->ended);
}

// Nor does what it asks keep it: SETUP alone would hold a session for as long as it likes.
TEST(test_one_that_only_asks_is_closed_after_10_s, set_up, tear_down)
{
    char reply[2000];

    g_autofree char *session = ask_set_up(*state, "Transport: RTP/AVP/TCP\r\n");
    assert_int_equal(ask(*state, "GET_PARAMETER", session, reply), 200);
    assert_true(lasts(*state, 9));
    assert_int_equal(ask(*state, "GET_PARAMETER", session, reply), 200);
    assert_false(lasts(*state, 10));
}

// Returns how many bytes of `count` the server takes.
static size_t send_on(const struct fixture *fixture, size_t count)
{
    static const char nonsense[4096];
    size_t sent = 0;
    ssize_t size;

    do {
        while (g_main_context_iteration(NULL, FALSE)) {
        }
        size = send(fixture->client, nonsense, MIN(sizeof nonsense, count - sent), MSG_NOSIGNAL);
        sent += size > 0 ? (size_t)size : 0;
    } while (sent < count && (size > 0 || errno == EAGAIN) && !fixture->connection->ended);
    return sent;
}

TEST(test_one_that_is_refused_has_2_s_to_leave, set_up, tear_down)
{
    struct fixture *fixture = *state;
    char reply[2000];

    assert_int_equal(ask(fixture, "hello\r\n", "", reply), 400);
    assert_int_equal(recv(fixture->client, reply, 1, 0), 0); // the server sends nothing more
    assert_int_equal(send_on(fixture, 100000), 100000);
    fixture->begin_ns = clock_now_ns();
    assert_true(lasts(fixture, 0));
    assert_false(lasts(fixture, 2));
}

TEST(test_one_that_is_refused_may_not_send_without_end, set_up, tear_down)
{
    struct fixture *fixture = *state;
    char reply[2000];

    assert_int_equal(ask(fixture, "hello\r\n", "", reply), 400);
    assert_in_range(send_on(fixture, 10000000), 262144, 1000000);
    assert_true(fixture->connection->ended);
}

TEST(test_one_that_plays_over_its_connection_may_say_nothing, set_up, tear_down)
{
    char reply[2000];

    g_autofree char *session = ask_set_up(*state, "Transport: RTP/AVP/TCP\r\n");
    assert_int_equal(ask(*state, "PLAY", session, reply), 200);
    for (double seconds = 1; seconds < 3600; seconds += 7)
        assert_true(lasts(*state, seconds));
    assert_int_equal(ask(*state, "GET_PARAMETER", session, reply), 200);
}

TEST(test_a_pause_ends_after_the_time_of_a_session, set_up, tear_down)
{
    struct fixture *fixture = *state;
    char reply[2000];

    g_autofree char *session = ask_set_up(fixture, "Transport: RTP/AVP/TCP\r\n");
    assert_int_equal(ask(fixture, "PLAY", session, reply), 200);
    assert_int_equal(ask(fixture, "PAUSE", session, reply), 200);
    fixture->begin_ns = clock_now_ns();
    assert_true(lasts(fixture, 59));
    assert_int_equal(fixture->service.session_count, 1);
    assert_true(lasts(fixture, 60.5)); // the session ends, not yet the connection
    assert_int_equal(fixture->service.session_count, 0);
    assert_int_equal(ask(fixture, "PLAY", session, reply), 454);
    assert_true(lasts(fixture, 69));
    assert_false(lasts(fixture, 71));
}

// By UDP nothing else says that the viewer is there.
static void assert_ends_after_60_s(struct fixture *fixture, const char *transport)
{
    char reply[2000];
    g_autofree char *session = ask_set_up(fixture, transport);

    assert_int_equal(ask(fixture, "PLAY", session, reply), 200);
    fixture->begin_ns = clock_now_ns();
    assert_true(lasts(fixture, 59));
    assert_int_equal(fixture->service.session_count, 1);
    assert_true(lasts(fixture, 60.5));
    assert_int_equal(fixture->service.session_count, 0);
}

TEST(test_a_silent_viewer_over_udp_ends_after_60_s, set_up, tear_down)
{
    assert_ends_after_60_s(*state, "Transport: RTP/AVP;unicast;client_port=61000-61001\r\n");
}

TEST(test_a_silent_member_of_a_group_ends_after_60_s, set_up, tear_down)
{
    struct fixture *fixture = *state;

    assert_ends_after_60_s(fixture, "Transport: RTP/AVP;multicast\r\n");
    assert_false(stream_is_watched(fixture->mount.stream));
}

// A client that asks or reports is there.
TEST(test_a_request_keeps_a_session, set_up, tear_down)
{
    struct fixture *fixture = *state;
    char reply[2000];

    g_autofree char *session =
        ask_set_up(fixture, "Transport: RTP/AVP;unicast;client_port=61000-61001\r\n");
    assert_int_equal(ask(fixture, "PLAY", session, reply), 200);
    fixture->begin_ns = clock_now_ns();
    while (clock_now_ns() - fixture->begin_ns < 20 * NS_PER_MS) {
    }
    assert_int_equal(ask(fixture, "GET_PARAMETER", session, reply), 200);
    connection_tick(fixture->connection, fixture->begin_ns + 60 * NS_PER_S + 10 * NS_PER_MS);
    assert_int_equal(fixture->service.session_count, 1);
}

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
    for (unsigned i = 0; i < NEWCOMERS; i++)
        assert_true(newcomers[i].connection->handshake_done);
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
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(send(fixture->client, packet, sizeof packet, MSG_NOSIGNAL), sizeof packet);
    while (!fixture->connection->wait) {
        assert_true(clock_now_ns() - fixture->begin_ns < PATIENCE_NS);
        g_main_context_iteration(NULL, FALSE);
    }
    assert_in_range(fixture->connection->unread->len, 1, CONNECTION_UNREAD_MAX);
}

RUN_TESTS(NULL, NULL)
