// /v1/events with real clients: what they hear, and those who stall, leave or are too many.
#include "tests/unit/daemon/control_server.h"
#include "tests/unit/stopwatch.h"

#include "daemon/front/events/event_feed.h"

#include <poll.h>

#define REQUEST "GET /v1/events HTTP/1.1\r\nHost: edged\r\n\r\n"
#define QUIET_MS 400

static void publish(const struct fixture *fixture, const char *region, enum motion_kind kind,
                    uint64_t number)
{
    struct motion_event event = {.kind = kind, .camera = "front", .number = number};

    snprintf(event.region, sizeof event.region, "%s", region);
    event_feed_add(fixture->model.feed, event_of_motion(&event));
}

static void publish_pairs(const struct fixture *fixture, uint64_t first, uint64_t last)
{
    for (uint64_t number = first; number <= last; number++) {
        publish(fixture, "door", MOTION_STARTED, number);
        publish(fixture, "door", MOTION_ENDED, number);
    }
}

// Runs the main loop until it has nothing to do.
static void settle(void)
{
    while (g_main_context_iteration(NULL, FALSE)) {
    }
}

// Sends `request`; returns what was replied up to `until`.
static char *request_until(int fd, const char *request, const char *until)
{
    client_send(fd, request);
    return receive_reply(fd, until);
}

// A client that has heard the head of the stream.
static int follow(const struct fixture *fixture)
{
    int fd = client_connect(fixture);
    g_autofree char *head = request_until(fd, REQUEST, "id: ");

    assert_true(g_str_has_prefix(head, "HTTP/1.1 200 "));
    return fd;
}

static void close_all(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
}

TEST(test_a_reader_by_http_1_0_gets_the_stream_as_it_is, setup, teardown)
{
    struct fixture *fixture = *state;
    _cleanup_(cleanup_close) int fd = client_connect(fixture);

    publish(fixture, "door", MOTION_STARTED, 1);
    g_autofree char *head =
        request_until(fd, "GET /v1/events HTTP/1.0\r\n\r\n", "\nevent: motion_started\n");
    assert_true(g_str_has_prefix(body_of(head), "retry: 2000\nid: "));
    publish(fixture, "door", MOTION_ENDED, 1);
    g_autofree char *event = receive_reply(fd, "\nevent: motion_ended\n");
    assert_true(g_str_has_prefix(strstr(event, "id: "), "id: "));
}

static gboolean end_quiet(gpointer data)
{
    *(bool *)data = true;
    return G_SOURCE_REMOVE;
}

TEST(test_readers_who_wait_cost_nothing, setup, teardown)
{
    struct fixture *fixture = *state;
    int readers[CONTROL_SOCKET_STREAMS];
    unsigned wakes = 0;
    bool over = false;

    for (size_t i = 0; i < ARRAY_LENGTH(readers); i++)
        readers[i] = follow(fixture);
    settle();
    g_timeout_add(QUIET_MS, end_quiet, &over);
    while (!over)
        wakes += g_main_context_iteration(NULL, TRUE);
    assert_in_range(wakes, 1, 3);
    close_all(readers, ARRAY_LENGTH(readers));
}

TEST(test_a_request_for_the_head_takes_no_room, setup, teardown)
{
    struct fixture *fixture = *state;

    for (unsigned i = 0; i <= CONTROL_SOCKET_STREAMS; i++) {
        g_autofree char *head = ask(fixture, "HEAD /v1/events HTTP/1.0\r\n\r\n");

        assert_non_null(strstr(head, " 200 "));
        assert_non_null(strstr(head, "\r\nContent-Type: text/event-stream\r\n"));
        assert_string_equal(body_of(head), "");
    }
}

static gboolean wake(gpointer data)
{
    (void)data; // only so that an iteration of the main context ends
    return G_SOURCE_CONTINUE;
}

// Runs the main loop until the server has closed `fd`, without reading from it.
static void await_close(int fd)
{
    unsigned guard = g_timeout_add(GUARD_MS, give_up, NULL);
    unsigned tick = g_timeout_add(50, wake, NULL);
    struct pollfd closed = {.fd = fd};

    while (poll(&closed, 1, 0) == 0 || !(closed.revents & POLLHUP))
        g_main_context_iteration(NULL, TRUE);
    g_source_remove(tick);
    g_source_remove(guard);
}

TEST(test_a_reader_who_does_not_read_is_dropped_and_holds_up_nobody, setup, teardown)
{
    struct fixture *fixture = *state;
    _cleanup_(cleanup_close) int stalled = follow(fixture), good = follow(fixture);
    int64_t begin_ns = clock_now_ns();

    // Far more than a socket takes, at the pace of the one who reads.
    for (unsigned round = 0; round < 40; round++) {
        g_autofree char *end = g_strdup_printf("\"number\":%u,", round);

        publish_pairs(fixture, 1000, 1099);
        publish(fixture, "yard", MOTION_ENDED, round);
        g_autofree char *heard = receive_reply(good, end);
        assert_non_null(strstr(heard, end));
    }
    int64_t published_ns = clock_now_ns();
    await_close(stalled);
    assert_true(clock_now_ns() - begin_ns >= 4 * NS_PER_S);
    assert_lasted(published_ns, 0, 8 * NS_PER_S);
    publish(fixture, "door", MOTION_STARTED, 7);
    g_autofree char *event = receive_reply(good, "\"number\":7,");
    assert_non_null(strstr(event, "\"number\":7,"));
}

TEST(test_a_reader_overtaken_by_events_is_closed_and_finds_them_on_return, setup, teardown)
{
    struct fixture *fixture = *state;
    _cleanup_(cleanup_close) int fd = follow(fixture), again = client_connect(fixture);

    publish_pairs(fixture, 1, 600); // in one go, so that none is sent before the last is there
    g_autofree char *rest = receive_reply(fd, NULL);
    assert_null(strstr(rest, "event:"));
    g_autofree char *kept = request_until(
        again, "GET /v1/events HTTP/1.0\r\nLast-Event-ID: long-ago\r\n\r\n", "\"number\":600,");
    assert_non_null(strstr(kept, "\"number\":101,")); // 500 pairs
    assert_null(strstr(kept, "\"number\":100,"));
}

RUN_TESTS(NULL, NULL)
