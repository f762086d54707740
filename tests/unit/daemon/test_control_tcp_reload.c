// Changes of address, certificate and users while the control API serves over TCP.
#include "tests/unit/daemon/tcp_control.h"

TEST(test_another_port_is_taken_and_the_old_one_given_up, setup_plain, teardown_tcp)
{
    struct tcp *tcp = *state;
    struct error error = {0};
    int old = tcp->port;

    tcp->port = free_port();
    assert_int_equal(apply(tcp, PLAIN, &error), 0);
    assert_status(tcp, "", "/v1/status", 200);
    tcp->port = old;
    assert_status(tcp, "", "/v1/status", 0);
    assert_int_equal(apply(tcp, "http = { port = 0; };", &error), 0);
    assert_null(control_url(tcp->network.control));
}

TEST(test_another_address_of_the_same_port_is_taken, setup_users, teardown_tcp)
{
    struct tcp *tcp = *state;
    struct error error = {0};

    assert_int_equal(apply(tcp,
                           "http = { address = \"0.0.0.0\"; port = PORT; }; "
                           "rtsp = { users = \"USERS\"; };",
                           &error),
                     0);
    assert_status(tcp, "--digest -u \"vera:pass word\"", "/v1/status", 200);
    assert_int_equal(apply(tcp, PLAIN_USERS, &error), 0);
    assert_status(tcp, "--digest -u \"vera:pass word\"", "/v1/status", 200);
}

TEST(test_an_address_that_is_taken_leaves_all_as_it_was, setup_plain, teardown_tcp)
{
    struct tcp *tcp = *state;
    struct error error = {0};
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    _cleanup_(cleanup_close) int taken = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int own = tcp->port;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(taken, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(taken, 1), 0);
    assert_int_equal(getsockname(taken, (struct sockaddr *)&address, &size), 0);
    tcp->port = ntohs(address.sin_port);
    assert_int_equal(apply(tcp, PLAIN, &error), -EADDRINUSE);
    assert_non_null(strstr(error.text, "http.port"));
    tcp->port = own;
    assert_status(tcp, "", "/v1/status", 200);
    // The same port elsewhere, where somebody else has it.
    address.sin_port = htons((uint16_t)own);
    inet_pton(AF_INET, "127.0.0.2", &address.sin_addr);
    _cleanup_(cleanup_close) int other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(other, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(other, 1), 0);
    assert_int_equal(apply(tcp, "http = { address = \"127.0.0.2\"; port = PORT; };", &error),
                     -EADDRINUSE);
    assert_status(tcp, "", "/v1/status", 200);
}

TEST(test_a_new_certificate_is_shown_from_then_on, setup_tls, teardown_tcp)
{
    struct tcp *tcp = *state;
    struct error error = {0};
    g_autofree char *text =
        g_strdup_printf(TLS " rtsp = { certificate = \"%s/own.crt\"; key = \"%s/own.key\"; };",
                        tcp->base.folder, tcp->base.folder);
    g_autofree char *bad =
        g_strdup_printf(TLS " rtsp = { certificate = \"%s/own.crt\"; key = \"%s/tls.pem\"; };",
                        tcp->base.folder, tcp->base.folder);
    g_autofree char *pinned = g_strdup_printf("--cacert %s/own.crt", tcp->base.folder);

    make_certificate(tcp->base.folder, "own");
    assert_int_equal(apply(tcp, bad, &error), -EINVAL);
    assert_non_null(strstr(error.text, "rtsp.certificate: "));
    assert_status(tcp, "", "/v1/status", 200);
    assert_int_equal(apply(tcp, text, &error), 0);
    assert_status(tcp, "", "/v1/status", 0);
    assert_status(tcp, pinned, "/v1/status", 200);
    // The same files with another content.
    make_certificate(tcp->base.folder, "own");
    assert_int_equal(apply(tcp, text, &error), 0);
    assert_status(tcp, pinned, "/v1/status", 200);
}

// The descriptor that listens on the port.
static int find_listener(int port)
{
    for (int fd = 3; fd < 1024; fd++) {
        struct sockaddr_in address = {0};
        socklen_t size = sizeof address, length = sizeof(int);
        int listens = 0;

        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 && listens &&
            getsockname(fd, (struct sockaddr *)&address, &size) == 0 &&
            address.sin_family == AF_INET && ntohs(address.sin_port) == port) {
            return fd;
        }
    }
    return -1;
}

// As systemd has a copy of it, for the edged after this one.
TEST(test_the_socket_goes_on_listening_where_somebody_keeps_it, setup_plain, teardown_tcp)
{
    struct tcp *tcp = *state;
    _cleanup_(cleanup_close) int kept = dup(find_listener(tcp->port));
    _cleanup_(cleanup_close) int client = -1;

    assert_true(kept >= 0);
    front_network_finish(&tcp->network);
    client = connect_from(tcp, "127.0.0.1");
    assert_true(client >= 0);
}

TEST(test_a_reload_that_ends_its_own_server_is_answered, setup_tls_users, teardown_tcp)
{
    struct tcp *tcp = *state;
    struct error error = {0};
    int old = tcp->port;
    g_autofree char *output = NULL;
    g_autofree char *text = NULL;

    tcp->port = free_port();
    text = g_strdup_printf("http = { port = %d; tls = true; }; rtsp = { users = \"USERS\"; };",
                           tcp->port);
    tcp->reload_text = text;
    tcp->port = old;
    output = curl(tcp, "-u \"otto:pass word\" -X POST", "/v1/reload");
    assert_int_equal(status_of(output), 200);
    assert_non_null(strstr(output, "{\"reloaded\": true}"));
    assert_int_equal(tcp->reloads, 1);
    tcp->reload_text = NULL;
    assert_int_equal(apply(tcp, TLS_USERS, &error), 0);
}

TEST(test_a_reader_whose_user_is_gone_is_hung_up_on, setup_users, teardown_tcp)
{
    struct tcp *tcp = *state;
    unsigned timer = g_timeout_add(100, on_publish, tcp);
    struct user user;
    struct users *users = NULL;
    _cleanup_(cleanup_free) char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    g_autoptr(GSubprocess) process = NULL;
    g_autofree char *url = g_strdup_printf("http://127.0.0.1:%d/v1/events", tcp->port);
    unsigned guard = g_timeout_add(GUARD_MS, give_up, NULL);
    char *output = NULL;

    user_init(&user, "otto", CONFIG_ROLE_OPERATOR, "pass word");
    users_print(file, &user);
    fclose(file);
    assert_int_equal(users_parse(text, size, "t", NULL, &users), 0);
    process = g_subprocess_new(G_SUBPROCESS_FLAGS_STDOUT_PIPE, NULL, "curl", "-q", "-s", "-N",
                               "--digest", "-u", "vera:pass word", url, NULL);
    GInputStream *stream = g_subprocess_get_stdout_pipe(process);
    while (!g_pollable_input_stream_is_readable(G_POLLABLE_INPUT_STREAM(stream))) {
        g_main_context_iteration(NULL, TRUE);
    }
    front_network_take_users(&tcp->network, tcp->config, users);
    g_subprocess_communicate_utf8_async(process, NULL, NULL, on_ended, &output);
    while (!output) {
        g_main_context_iteration(NULL, TRUE);
    }
    assert_non_null(strstr(output, "id: ")); // it had begun to follow
    g_free(output);
    g_source_remove(timer);
    g_source_remove(guard);
}

RUN_TESTS(NULL, NULL)
