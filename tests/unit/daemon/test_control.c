// The control socket with real clients: pages and refusals, bad clients beside good ones.
#include "tests/unit/daemon/control_server.h"
#include "tests/unit/stopwatch.h"

#include <errno.h>
#include <json-glib/json-glib.h>
#include <sys/resource.h>

static void assert_json(const char *text, const char *member)
{
    g_autoptr(JsonParser) parser = json_parser_new();

    assert_true(json_parser_load_from_data(parser, text, -1, NULL));
    assert_true(json_object_has_member(json_node_get_object(json_parser_get_root(parser)), member));
}

static void count_viewers(struct fixture *fixture, int change)
{
    const struct front_camera *camera = g_ptr_array_index(fixture->model.cameras, 0);

    stream_count_viewer(front_camera_stream(camera, 0), VIEWER_HTTP, change);
}

TEST(test_status_is_json_of_now, setup, teardown)
{
    struct fixture *fixture = *state;
    g_autofree char *before = ask(fixture, "GET /v1/status HTTP/1.0\r\n\r\n");
    count_viewers(fixture, 2);
    g_autofree char *reply = ask(fixture, "GET /v1/status HTTP/1.0\r\n\r\n");

    assert_true(g_str_has_prefix(reply, "HTTP/1.0 200 ") ||
                g_str_has_prefix(reply, "HTTP/1.1 200 "));
    assert_non_null(strstr(reply, "\r\nContent-Type: application/json\r\n"));
    assert_json(body_of(reply), "cameras");
    assert_non_null(strstr(before, "\"viewers\" : 0"));
    assert_non_null(strstr(reply, "\"viewers\" : 2"));
}

TEST(test_metrics_declare_the_text_format, setup, teardown)
{
    count_viewers(*state, 2);
    g_autofree char *reply = ask(*state, "GET /metrics HTTP/1.0\r\n\r\n");

    assert_non_null(
        strstr(reply, "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
    assert_non_null(strstr(body_of(reply), "\nedged_viewers 2\n"));
}

TEST(test_the_root_lists_both_pages, setup, teardown)
{
    g_autofree char *reply = ask(*state, "GET / HTTP/1.0\r\n\r\n");

    assert_non_null(strstr(body_of(reply), "/v1/status"));
    assert_non_null(strstr(body_of(reply), "/metrics"));
}

TEST(test_a_reload_is_posted_and_answered_with_the_verdict, setup, teardown)
{
    g_autofree char *reply = ask(*state, "POST /v1/reload HTTP/1.0\r\n\r\n");
    g_autofree char *get = ask(*state, "GET /v1/reload HTTP/1.0\r\n\r\n");

    assert_non_null(strstr(reply, " 200 "));
    assert_non_null(strstr(reply, "\"successful\" : false"));
    assert_non_null(strstr(reply, "\"e.conf:1: error: a\",\n    \"e.conf:2: error: b\"\n  ]"));
    assert_non_null(strstr(get, " 405 "));
    assert_non_null(strstr(get, "\r\nAllow: POST\r\n"));
}

// Of a page that is the same each time: the status holds seconds, and a second of one digit more
// makes it longer.
TEST(test_head_has_the_length_and_no_body, setup, teardown)
{
    g_autofree char *get = ask(*state, "GET / HTTP/1.0\r\n\r\n");
    g_autofree char *head = ask(*state, "HEAD / HTTP/1.0\r\n\r\n");
    g_autofree char *of_status = ask(*state, "HEAD /v1/status HTTP/1.0\r\n\r\n");
    g_autofree char *length = g_strdup_printf("\r\nContent-Length: %zu\r\n", strlen(body_of(get)));

    assert_non_null(strstr(head, " 200 "));
    assert_non_null(strstr(head, length));
    assert_string_equal(body_of(head), "");
    assert_non_null(strstr(of_status, " 200 "));
    assert_string_equal(body_of(of_status), "");
}

TEST(test_an_unknown_page_is_404_and_says_what_is_there, setup, teardown)
{
    g_autofree char *reply = ask(*state, "GET /v2/status HTTP/1.0\r\n\r\n");

    assert_non_null(strstr(reply, " 404 "));
    assert_json(body_of(reply), "error");
    assert_non_null(strstr(body_of(reply), "/v1/status"));
}

TEST(test_another_method_is_405_and_says_which_is_allowed, setup, teardown)
{
    g_autofree char *reply = ask(*state, "POST /v1/status HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}");

    assert_non_null(strstr(reply, " 405 "));
    assert_non_null(strstr(reply, "\r\nAllow: GET, HEAD\r\n"));
    assert_json(body_of(reply), "error");
}

TEST(test_one_connection_takes_two_requests, setup, teardown)
{
    struct fixture *fixture = *state;
    _cleanup_(cleanup_close) int fd = client_connect(fixture);
    g_autofree char *first = NULL, *second = NULL;

    client_send(fd, "GET / HTTP/1.1\r\nHost: edged\r\n\r\n");
    first = receive_reply(fd, "/metrics");
    client_send(fd, "GET /v1/status HTTP/1.1\r\nHost: edged\r\nConnection: close\r\n\r\n");
    second = receive_reply(fd, NULL);
    assert_true(g_str_has_prefix(first, "HTTP/1.1 200 "));
    assert_true(g_str_has_prefix(second, "HTTP/1.1 200 "));
    assert_json(body_of(second), "mounts");
}

static void assert_still_serves(const struct fixture *fixture)
{
    g_autofree char *reply = ask(fixture, "GET /v1/status HTTP/1.0\r\n\r\n");

    assert_non_null(strstr(reply, " 200 "));
}

TEST(test_garbage_is_refused_and_harms_nobody, setup, teardown)
{
    g_autofree char *reply = ask(*state, "\x16\x03\x01\x02 \xff\xfe\r\n\r\n");

    assert_null(strstr(reply, " 200 "));
    assert_still_serves(*state);
}

TEST(test_a_huge_header_is_refused_and_harms_nobody, setup, teardown)
{
    struct fixture *fixture = *state;
    g_autofree char *filler = g_strnfill(60000, 'x');
    g_autofree char *request =
        g_strdup_printf("GET /v1/status HTTP/1.1\r\nHost: edged\r\nX: %s\r\n\r\n", filler);
    g_autofree char *reply = ask(fixture, request);

    assert_non_null(strstr(reply, " 431 "));
    assert_still_serves(fixture);
}

TEST(test_a_silent_client_blocks_nobody_and_is_dropped_after_5_s, setup, teardown)
{
    struct fixture *fixture = *state;
    _cleanup_(cleanup_close) int slow = client_connect(fixture);
    g_autofree char *reply = NULL;
    int64_t begin_ns = clock_now_ns();

    client_send(slow, "GET /v1/sta");
    assert_still_serves(fixture);
    assert_lasted(begin_ns, 0, 4 * NS_PER_S);
    reply = receive_reply(slow, NULL);
    assert_null(strstr(reply, " 200 "));
    assert_lasted(begin_ns, 4 * NS_PER_S, 8 * NS_PER_S);
}

TEST(test_a_client_that_leaves_without_reading_harms_nobody, setup, teardown)
{
    struct fixture *fixture = *state;

    for (int i = 0; i < 10; i++) { // fewer than wait to be accepted
        _cleanup_(cleanup_close) int fd = client_connect(fixture);

        client_send(fd, "GET /metrics HTTP/1.1\r\nHost: edged\r\n\r\n");
    }
    assert_still_serves(fixture);
}

TEST(test_clients_beyond_the_limit_take_the_place_of_a_silent_one, setup, teardown)
{
    struct fixture *fixture = *state;
    int idle[32];
    g_autofree char *reply = NULL;
    _cleanup_(cleanup_close) int last = -1;
    char byte;

    for (size_t i = 0; i < ARRAY_LENGTH(idle); i++) {
        idle[i] = client_connect(fixture);
        while (g_main_context_iteration(NULL, FALSE)) {
        }
    }
    last = client_connect(fixture);
    client_send(last, "GET /v1/status HTTP/1.0\r\n\r\n");
    reply = receive_reply(last, NULL);
    assert_non_null(strstr(reply, " 200 "));
    assert_int_equal(recv(idle[0], &byte, 1, 0), 0); // the one that was silent for longest
    assert_int_equal(recv(idle[1], &byte, 1, 0), -1);
    for (size_t i = 0; i < ARRAY_LENGTH(idle); i++)
        close(idle[i]);
}

TEST(test_a_server_that_cannot_start_leaves_nothing_behind, setup, teardown)
{
    struct fixture *fixture = *state;
    g_autofree char *path = g_strconcat(fixture->path, "2", NULL);
    int next = dup(STDOUT_FILENO), lowest;
    struct rlimit before, one_more = {.rlim_cur = next + 1};
    struct control *control = NULL;
    struct error error = {0};

    close(next);
    getrlimit(RLIMIT_NOFILE, &before);
    one_more.rlim_max = before.rlim_max;
    setrlimit(RLIMIT_NOFILE, &one_more); // enough for the listening socket, not for epoll
    assert_int_equal(control_new(path, &fixture->model, &error, &control), -EIO);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_non_null(strstr(error.text, "does not start"));
    assert_null(control);
    assert_int_equal(access(path, F_OK), -1);
    lowest = dup(STDOUT_FILENO);
    assert_int_equal(lowest, next);
    close(lowest);
}

RUN_TESTS(NULL, NULL)
