// What time does to a connection, told to it in the ticks of the test.
#include "tests/unit/daemon/rtsp_connection_bed.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

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
    for (double seconds = 1; seconds < 3600; seconds += 7) {
        assert_true(lasts(*state, seconds));
    }
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

// Who asks or reports is there.
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

TEST(test_one_that_hangs_up_has_ended, set_up, tear_down)
{
    struct fixture *fixture = *state;

    shutdown(fixture->client, SHUT_RDWR);
    while (!fixture->connection->ended) {
        assert_true(clock_now_ns() - fixture->begin_ns < PATIENCE_NS);
        g_main_context_iteration(NULL, FALSE);
    }
    connection_tick(fixture->connection, fixture->begin_ns); // ends once
}

RUN_TESTS(NULL, NULL)
