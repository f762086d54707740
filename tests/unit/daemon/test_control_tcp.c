// The control API over TCP with curl as the client: who may ask for what, TLS, limits.
#include "tests/unit/daemon/tcp_control.h"
#include "tests/unit/stopwatch.h"

TEST(test_without_users_this_machine_may_read_and_change_nothing, setup_plain, teardown_tcp)
{
    struct tcp *tcp = *state;

    assert_status(tcp, "", "/v1/status", 200);
    assert_status(tcp, "", "/metrics", 200);
    assert_status(tcp, "", "/nothing", 404);
    assert_status(tcp, "-X POST", "/metrics", 405);
    assert_status(tcp, "-X POST", "/v1/reload", 403);
    assert_int_equal(tcp->reloads, 0);
}

TEST(test_without_users_another_name_of_this_machine_is_refused, setup_plain, teardown_tcp)
{
    assert_status(*state, "-H \"Host: evil.example\"", "/v1/status", 403);
    assert_status(*state, "-H \"Host: evil.example:80\"", "/v1/status", 403);
    static const char *const others[] = {"127.0.0.1.evil.example",
                                         "localhost.evil.example",
                                         "[::1].evil.example",
                                         "[::1]evil.example",
                                         "[::1",
                                         "::1",
                                         "[127.0.0.1]",
                                         "[localhost]",
                                         "evil@127.0.0.1",
                                         "127.0.0.1:70000",
                                         "localhost:0",
                                         "127.0.0.1:80:80",
                                         "127.0.0.1:-1",
                                         "127.0.0.1: 80x",
                                         "[::1]:65536",
                                         "0.0.0.0",
                                         "127.0.0.1/",
                                         "127.1"};

    for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
        g_autofree char *argument = g_strdup_printf("-H \"Host: %s\"", others[i]);

        assert_status(*state, argument, "/v1/status", 403);
    }
    assert_status(*state, "-H \"Host: LocalHost:65535\"", "/v1/status", 200);
    assert_status(*state, "-H \"Host: localhost:1\"", "/v1/status", 200);
    assert_status(*state, "-H \"Host: [::1]:1\"", "/v1/status", 200);
    assert_status(*state, "--http1.0 -H \"Host:\"", "/v1/status", 200);
}

TEST(test_a_second_host_is_refused, setup_plain, teardown_tcp)
{
    _cleanup_(cleanup_close) int fd = connect_from(*state, "127.0.0.1");
    g_autofree char *reply = NULL;

    client_send(fd, "GET /v1/status HTTP/1.0\r\nHost: localhost\r\nHost: evil.example\r\n\r\n");
    reply = receive_reply(fd, NULL);
    assert_non_null(strstr(reply, " 400 "));
}

TEST(test_users_read_by_digest_and_operators_reload, setup_users, teardown_tcp)
{
    struct tcp *tcp = *state;
    g_autofree char *asked = curl(tcp, "", "/v1/status");

    assert_int_equal(status_of(asked), 401);
    assert_non_null(strstr(asked, "WWW-Authenticate: Digest "));
    assert_null(strstr(asked, "WWW-Authenticate: Basic"));
    assert_status(tcp, "--digest -u \"vera:pass word\"", "/v1/status", 200);
    assert_status(tcp, "--digest -u \"vera:pass word\"", "/v1/status?x=%20a", 200);
    assert_status(tcp, "--digest -u \"vera:pass word\" -X POST", "/v1/reload", 403);
    assert_int_equal(tcp->reloads, 0);
    assert_status(tcp, "--digest -u \"otto:pass word\" -X POST", "/v1/reload", 200);
    assert_int_equal(tcp->reloads, 1);
    assert_status(tcp, "--digest -u \"otto:pass word\" -X POST -H \"Origin: http://evil.example\"",
                  "/v1/reload", 403);
    assert_int_equal(tcp->reloads, 1);
}

// A page of theirs is kept for a moment, but never shown to another role.
TEST(test_a_role_is_shown_what_it_may_watch, setup_users, teardown_tcp)
{
    static const struct {
        const char *page, *sign;
    } pages[] = {{"/v1/status", "\"front\""},
                 {"/metrics", "camera=\"front\""},
                 {"/nothing", "/front/edges"}};
    struct tcp *tcp = *state;

    tcp->base.role = CONFIG_ROLE_OPERATOR;
    for (size_t i = 0; i < 2 * ARRAY_LENGTH(pages); i++) {
        const char *page = pages[i % ARRAY_LENGTH(pages)].page;
        const char *sign = pages[i % ARRAY_LENGTH(pages)].sign;
        g_autofree char *otto = curl(tcp, "--digest -u \"otto:pass word\"", page);
        g_autofree char *vera = curl(tcp, "--digest -u \"vera:pass word\"", page);

        assert_non_null(strstr(otto, sign));
        assert_null(strstr(vera, sign));
    }
    g_autofree char *local = ask(&tcp->base, "GET /v1/status HTTP/1.0\r\n\r\n");
    assert_non_null(strstr(local, "front"));
}

// The events of before, too, for which one asks with an id of another run.
TEST(test_a_role_hears_of_cameras_that_it_may_watch, setup_users, teardown_tcp)
{
    struct tcp *tcp = *state;
    struct motion_event event = {.kind = MOTION_STARTED, .region = "door", .number = 1};
    const char *arguments =
        "-N --max-time 2 -H \"Last-Event-ID: 0-0\" --digest -u \"%s:pass word\"";

    event.role = CONFIG_ROLE_OPERATOR;
    snprintf(event.camera, sizeof event.camera, "safe");
    control_publish(tcp->network.control, &event);
    event.role = CONFIG_ROLE_VIEWER;
    snprintf(event.camera, sizeof event.camera, "front");
    control_publish(tcp->network.control, &event);
    for (unsigned i = 0; i < 2; i++) {
        g_auto(GStrv) parts = g_strsplit(arguments, "%s", 2);
        g_autofree char *whole = g_strjoinv(i ? "otto" : "vera", parts);
        g_autofree char *output = curl(tcp, whole, "/v1/events");

        assert_non_null(strstr(output, "\"front\""));
        assert_int_equal(strstr(output, "\"safe\"") != NULL, i);
    }
}

TEST(test_a_password_in_the_clear_is_never_looked_at, setup_users, teardown_tcp)
{
    assert_status(*state, "--basic -u \"vera:pass word\"", "/v1/status", 401);
}

TEST(test_guesses_are_throttled, setup_users, teardown_tcp)
{
    struct tcp *tcp = *state;
    g_autofree char *output = NULL;

    for (int i = 0; i < 5; i++) {
        assert_status(tcp, "--digest -u vera:wrong", "/v1/status", 401);
    }
    // Many at once: while a curl of its own for each begins, a try comes back every second.
    output = curl(tcp, "--digest -u vera:wrong", "/v1/status#[1-20]");
    assert_non_null(strstr(output, " 429 "));
    assert_non_null(strstr(output, "Retry-After: 1\r\n"));
}

TEST(test_two_authorizations_are_refused, setup_users, teardown_tcp)
{
    assert_status(*state, "-H \"Authorization: Basic a\" -H \"Authorization: Basic b\"",
                  "/v1/status", 400);
}

TEST(test_tls_is_trusted_by_its_generated_certificate, setup_tls, teardown_tcp)
{
    struct tcp *tcp = *state;

    assert_true(g_str_has_prefix(control_url(tcp->network.control), "https://127.0.0.1:"));
    assert_status(tcp, "", "/v1/status", 200);
    assert_status(tcp, "--tls-max 1.2", "/v1/status", 200);
}

TEST(test_old_protocols_are_refused, setup_tls, teardown_tcp)
{
    g_autofree char *output =
        curl(*state, "--tlsv1.0 --tls-max 1.1 --ciphers DEFAULT@SECLEVEL=0", "/v1/status");

    assert_int_equal(status_of(output), 0);
    assert_non_null(strstr(output, "curl: 35")); // CURLE_SSL_CONNECT_ERROR
}

TEST(test_basic_is_for_tls, setup_tls_users, teardown_tcp)
{
    g_autofree char *asked = curl(*state, "", "/metrics");

    assert_int_equal(status_of(asked), 401);
    assert_non_null(strstr(asked, "WWW-Authenticate: Basic "));
    assert_status(*state, "--basic -u \"vera:pass word\"", "/metrics", 200);
    assert_status(*state, "--basic -u \"vera:wrong\"", "/metrics", 401);
    assert_status(*state, "--digest -u \"vera:pass word\"", "/metrics", 200);
}

TEST(test_garbage_instead_of_a_handshake_is_hung_up_on, setup_tls, teardown_tcp)
{
    struct tcp *tcp = *state;
    _cleanup_(cleanup_close) int fd = connect_from(tcp, "127.0.0.1");
    g_autofree char *reply = NULL;

    client_send(fd, "GET /v1/status HTTP/1.1\r\nHost: a\r\n\r\n");
    reply = receive_reply(fd, NULL);
    assert_null(strstr(reply, "HTTP"));
    assert_status(tcp, "", "/v1/status", 200);
}

static gboolean send_a_byte(gpointer data)
{
    send(*(int *)data, "x", 1, MSG_NOSIGNAL);
    return G_SOURCE_CONTINUE;
}

TEST(test_who_dribbles_or_is_silent_is_hung_up_on, setup_tls, teardown_tcp)
{
    struct tcp *tcp = *state;
    _cleanup_(cleanup_close) int silent = connect_from(tcp, "127.0.0.1");
    _cleanup_(cleanup_close) int dribbling = connect_from(tcp, "127.0.0.1");
    // The head of a record of 65 bytes, then a byte of it a second.
    unsigned dribble = g_timeout_add_seconds(1, send_a_byte, &dribbling);

    assert_int_equal(send(dribbling, "\x16\x03\x01\x00\x41", 5, MSG_NOSIGNAL), 5);
    g_free(receive_reply(silent, NULL));
    g_free(receive_reply(dribbling, NULL));
    g_source_remove(dribble);
    assert_status(tcp, "", "/v1/status", 200);
}

TEST(test_a_request_that_never_ends_is_hung_up_on, setup_plain, teardown_tcp)
{
    struct tcp *tcp = *state;
    _cleanup_(cleanup_close) int fd = connect_from(tcp, "127.0.0.1");
    unsigned dribble = g_timeout_add_seconds(1, send_a_byte, &fd);

    client_send(fd, "GET /v1/status HTTP/1.1\r\nX: ");
    g_free(receive_reply(fd, NULL));
    g_source_remove(dribble);
}

TEST(test_an_endless_body_is_hung_up_on, setup_users, teardown_tcp)
{
    struct tcp *tcp = *state;
    g_autofree char *output = curl(
        tcp, "--digest -u \"otto:pass word\" -T /dev/zero -X POST -H \"Expect:\"", "/v1/reload");

    assert_null(strstr(output, " 200 "));
    assert_int_equal(tcp->reloads, 0);
    assert_status(tcp, "--digest -u \"vera:pass word\"", "/v1/status", 200);
}

TEST(test_one_address_cannot_take_all_connections, setup_plain, teardown_tcp)
{
    struct tcp *tcp = *state;
    int fds[9];
    char byte;

    for (size_t i = 0; i < ARRAY_LENGTH(fds); i++) {
        fds[i] = connect_from(tcp, "127.0.0.9");
    }
    assert_status(tcp, "", "/v1/status", 200);
    assert_int_equal(recv(fds[0], &byte, 1, 0), 0); // it made room for the ninth
    assert_int_equal(recv(fds[8], &byte, 1, 0), -1);
    assert_int_equal(errno, EAGAIN);
    for (size_t i = 0; i < ARRAY_LENGTH(fds); i++) {
        close(fds[i]);
    }
}

// Twelve addresses with eight connections each; nobody waits until they are hung up on after 10 s.
TEST(test_the_silent_make_room_at_once, setup_users, teardown_tcp)
{
    struct tcp *tcp = *state;
    int64_t begin_ns = clock_now_ns();
    int fds[96];

    for (size_t i = 0; i < ARRAY_LENGTH(fds); i++) {
        g_autofree char *from = g_strdup_printf("127.0.0.%zu", 10 + i % 12);

        fds[i] = connect_from(tcp, from);
        if (i % 24 == 23) {
            assert_status(tcp, "--digest -u \"vera:pass word\"", "/v1/status", 200);
        }
    }
    assert_lasted(begin_ns, 0, 9 * NS_PER_S);
    for (size_t i = 0; i < ARRAY_LENGTH(fds); i++) {
        close(fds[i]);
    }
}

TEST(test_events_come_through_tls, setup_tls_users, teardown_tcp)
{
    struct tcp *tcp = *state;
    unsigned timer = g_timeout_add(100, on_publish, tcp);
    bool came = false;

    for (int seconds = 2; seconds < 50 && !came; seconds *= 4) {
        g_autofree char *arguments =
            g_strdup_printf("-N --max-time %d -u \"vera:pass word\"", seconds);
        g_autofree char *output = curl(tcp, arguments, "/v1/events");

        came = status_of(output) == 200 && strstr(output, "event: motion_started");
    }
    g_source_remove(timer);
    assert_true(came);
}

// More than may follow, each of whom leaves without a word.
TEST(test_readers_that_hang_up_over_tcp_make_room, setup_plain, teardown_tcp)
{
    struct tcp *tcp = *state;

    for (unsigned i = 0; i < 40; i++) {
        _cleanup_(cleanup_close) int fd = connect_from(tcp, "127.0.0.1");
        g_autofree char *head = NULL;

        client_send(fd, "GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
        head = receive_reply(fd, "id: ");
        assert_non_null(strstr(head, " 200 "));
    }
}

RUN_TESTS(NULL, NULL)
