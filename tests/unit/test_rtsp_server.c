// The RTSP server on a loopback port, with connections of the test's own.
#include "tests/unit/unit.h"

#include "daemon/front/rtsp_server.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>

#define PATIENCE_NS (60 * NS_PER_S)

static int set_up(void **state)
{
    struct error error = {0};
    struct rtsp_server *server;

    assert_int_equal(rtsp_server_new("127.0.0.1", 0, &error, &server), 0);
    *state = server;
    return 0;
}

static int tear_down(void **state)
{
    struct rtsp_server *server = *state;
    int64_t deadline_ns = clock_now_ns() + PATIENCE_NS;

    rtsp_server_close(server);
    while (!rtsp_server_is_closed(server) && clock_now_ns() < deadline_ns) {
        g_main_context_iteration(NULL, FALSE);
    }
    assert_true(rtsp_server_is_closed(server));
    rtsp_server_free(server);
    return 0;
}

static int connect_to(const struct rtsp_server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int port;

    assert_int_equal(sscanf(rtsp_server_url(server), "rtsp://127.0.0.1:%d", &port), 1);
    address.sin_port = htons((uint16_t)port);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

// Whether `fd` is the server's end of the connection `viewer`.
static bool is_other_end(int fd, int viewer)
{
    struct sockaddr_in peer = {0}, own = {0};
    socklen_t peer_size = sizeof peer, own_size = sizeof own;

    return getpeername(fd, (struct sockaddr *)&peer, &peer_size) == 0 &&
           getsockname(viewer, (struct sockaddr *)&own, &own_size) == 0 &&
           peer.sin_family == AF_INET && peer.sin_port == own.sin_port;
}

static bool sends_at_once(int viewer)
{
    for (int fd = 0; fd < 1024; fd++) {
        int on = 0;
        socklen_t size = sizeof on;

        if (is_other_end(fd, viewer) && getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, &size) == 0 &&
            on) {
            return true;
        }
    }
    return false;
}

// With Nagle's algorithm, the end of a frame came up to 40 ms late every few seconds.
TEST(test_packets_over_tcp_are_sent_at_once, set_up, tear_down)
{
    int viewer = connect_to(*state);
    int64_t deadline_ns = clock_now_ns() + PATIENCE_NS;

    while (!sends_at_once(viewer) && clock_now_ns() < deadline_ns) {
        g_main_context_iteration(NULL, FALSE);
    }
    assert_true(sends_at_once(viewer));
    close(viewer);
}

int main(int argc, char **argv)
{
    gst_init(&argc, &argv);
    return run_unit_tests(NULL, NULL);
}
