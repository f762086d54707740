// One connection of the RTSP server over a socket whose other end is the test's, with a stream,
// "/front/edges".
#pragma once

#include "tests/unit/stopwatch.h"
#include "tests/unit/unit.h"

#include "daemon/front/rtsp/connection.h"

#include <stdlib.h>
#include <sys/socket.h>

struct fixture {
    struct config *config;
    struct account *account;
    struct rtsp_service service;
    struct rtsp_mount mount;
    struct connection *connection;
    int client;
    int64_t begin_ns;
};

static inline int set_up(void **state)
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
    assert_int_equal(account_new(fixture->config, &error, &fixture->account), 0);
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

static inline int tear_down(void **state)
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
