// The control API over TCP on an address of its own, and curl as its client.
#pragma once

#include "tests/unit/daemon/control_server.h"
#include "tests/unit/daemon/openssl.h"

#include "daemon/front/account/account.h"
#include "daemon/front/front_network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gio/gio.h>
#include <netinet/in.h>
#include <signal.h>

struct tcp {
    struct fixture base; // its control is that of the network
    struct front_network network;
    struct account *account;
    struct rtsp_server *server;
    struct config *config;
    char *users; // the file
    int port, reloads;
    char *reload_text; // what a reload makes of the network; NULL: nothing
};

// One that is free now, as tests/ports.py finds it.
static inline int free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    _cleanup_(cleanup_close) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    do {
        address.sin_port = htons((uint16_t)g_random_int_range(20000, 32000));
    } while (bind(fd, (struct sockaddr *)&address, sizeof address) < 0);
    return ntohs(address.sin_port);
}

// Makes the network what `text` says, with PORT for the port and USERS for the file of users.
static inline int apply(struct tcp *tcp, const char *text, struct error *error)
{
    g_autofree char *port = g_strdup_printf("%d", tcp->port);
    g_auto(GStrv) parts = g_strsplit(text, "PORT", -1);
    g_autofree char *with_port = g_strjoinv(port, parts);
    g_auto(GStrv) more = g_strsplit(with_port, "USERS", -1);
    g_autofree char *whole = g_strjoinv(tcp->users, more);
    struct config *config = NULL;
    int r;

    assert_int_equal(config_parse(whole, "t", stderr, &config), 0);
    r = front_network_listen(&tcp->network, config, error);
    if (r < 0) {
        config_free(config);
        return r;
    }
    config_free(tcp->config);
    tcp->config = config;
    return 0;
}

static inline char *count_reload(void *context)
{
    struct tcp *tcp = context;
    struct error error = {0};

    tcp->reloads++;
    if (tcp->reload_text) {
        assert_int_equal(apply(tcp, tcp->reload_text, &error), 0);
    }
    return g_strdup("{\"reloaded\": true}");
}

static inline void write_users(const struct tcp *tcp)
{
    static const char *const names[] = {"vera", "otto"};
    FILE *file = fopen(tcp->users, "we");

    assert_non_null(file);
    assert_int_equal(fchmod(fileno(file), 0600), 0);
    for (unsigned i = 0; i < ARRAY_LENGTH(names); i++) {
        struct user user;

        user_init(&user, names[i], i ? CONFIG_ROLE_OPERATOR : CONFIG_ROLE_VIEWER, "pass word");
        users_print(file, &user);
    }
    assert_int_equal(fclose(file), 0);
}

static inline int setup_tcp(void **state, const char *text)
{
    struct tcp *tcp = g_new0(struct tcp, 1);
    const struct control_front front = {write_status, list_mounts, count_reload, refuse_filter,
                                        tcp};
    struct error error = {0};

    signal(SIGPIPE, SIG_IGN);
    tcp->base.folder = g_dir_make_tmp("edged-XXXXXX", NULL);
    tcp->base.path = g_build_filename(tcp->base.folder, "control.sock", NULL);
    tcp->users = g_build_filename(tcp->base.folder, "users", NULL);
    tcp->port = free_port();
    g_setenv("STATE_DIRECTORY", tcp->base.folder, true);
    write_users(tcp);
    g_autofree char *socket = g_strdup_printf("control = { socket = \"%s\"; };", tcp->base.path);
    g_autofree char *with_users =
        g_strdup_printf("%s rtsp = { users = \"%s\"; };", socket, tcp->users);
    bool users = strstr(text, "USERS");
    assert_int_equal(config_parse(users ? with_users : socket, "t", stderr, &tcp->config), 0);
    assert_int_equal(account_new(tcp->config, &error, &tcp->account), 0);
    tcp->config->rtsp.port = 0;
    assert_int_equal(rtsp_server_new(tcp->config, tcp->account, &error, &tcp->server), 0);
    assert_int_equal(
        front_network_open(&tcp->network, tcp->config, &front, tcp->account, tcp->server, &error),
        0);
    if (apply(tcp, text, &error) < 0) {
        fail_msg("%s", error.text);
    }
    *state = tcp;
    return 0;
}

#define PLAIN "http = { port = PORT; };"
#define PLAIN_USERS "http = { port = PORT; }; rtsp = { users = \"USERS\"; };"
#define TLS "http = { port = PORT; tls = true; };"
#define TLS_USERS "http = { port = PORT; tls = true; }; rtsp = { users = \"USERS\"; };"

static inline int setup_plain(void **state)
{
    return setup_tcp(state, PLAIN);
}

static inline int setup_users(void **state)
{
    return setup_tcp(state, PLAIN_USERS);
}

static inline int setup_tls(void **state)
{
    return setup_tcp(state, TLS);
}

static inline int setup_tls_users(void **state)
{
    return setup_tcp(state, TLS_USERS);
}

static inline int teardown_tcp(void **state)
{
    struct tcp *tcp = *state;

    front_network_finish(&tcp->network);
    rtsp_server_free(tcp->server);
    account_free(tcp->account);
    config_free(tcp->config);
    remove_folder(tcp->base.folder);
    g_free(tcp->users);
    g_free(tcp->base.path);
    g_free(tcp->base.folder);
    g_free(tcp);
    return 0;
}

static inline void on_ended(GObject *object, GAsyncResult *result, gpointer data)
{
    char **output = data;

    assert_true(
        g_subprocess_communicate_utf8_finish(G_SUBPROCESS(object), result, output, NULL, NULL));
}

// What `curl ARGUMENTS URL` prints, while the server runs: its headers too, and at the end a line
// with curl's own exit status.
static inline char *curl(const struct tcp *tcp, const char *arguments, const char *path)
{
    const char *scheme = tcp->network.certificate ? "https" : "http";
    g_autofree char *line = g_strdup_printf(
        "sh -c 'curl -q -s -S -i --noproxy \"*\" --max-time 50 --cacert %s/tls.pem %s "
        "%s://127.0.0.1:%d%s 2>&1; echo curl: $?'",
        tcp->base.folder, arguments, scheme, tcp->port, path);
    g_auto(GStrv) argv = NULL;
    unsigned guard = g_timeout_add(GUARD_MS, give_up, NULL);
    char *output = NULL;

    assert_true(g_shell_parse_argv(line, NULL, &argv, NULL));
    g_autoptr(GSubprocess) process =
        g_subprocess_newv((const char *const *)argv, G_SUBPROCESS_FLAGS_STDOUT_PIPE, NULL);
    assert_non_null(process);
    g_subprocess_communicate_utf8_async(process, NULL, NULL, on_ended, &output);
    while (!output) {
        g_main_context_iteration(NULL, TRUE);
    }
    g_source_remove(guard);
    return output;
}

// The status of the last reply, 0 without one. Debian 11's libmicrohttpd answers a request in
// HTTP/1.0 by a reply in that.
static inline int status_of(const char *output)
{
    const char *last = NULL;

    for (const char *at = output; (at = strstr(at, "HTTP/1.")); at++) {
        last = at;
    }
    return last ? atoi(last + strlen("HTTP/1.x ")) : 0;
}

static inline void assert_status(const struct tcp *tcp, const char *arguments, const char *path,
                                 int status)
{
    g_autofree char *output = curl(tcp, arguments, path);

    if (status_of(output) != status) {
        fail_msg("curl %s %s: %d expected: %s", arguments, path, status, output);
    }
}

static inline int connect_from(const struct tcp *tcp, const char *from)
{
    struct sockaddr_in own = {.sin_family = AF_INET}, address = own;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    inet_pton(AF_INET, from, &own.sin_addr);
    assert_int_equal(bind(fd, (struct sockaddr *)&own, sizeof own), 0);
    address.sin_port = htons((uint16_t)tcp->port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_true(g_unix_set_fd_nonblocking(fd, TRUE, NULL));
    return fd;
}

static inline void publish(const struct tcp *tcp)
{
    struct motion_event event = {
        .kind = MOTION_STARTED, .camera = "front", .region = "door", .number = 1};

    control_publish(tcp->network.control, &event);
}

static inline gboolean on_publish(gpointer data)
{
    publish(data);
    return G_SOURCE_CONTINUE;
}
