// The RTSP server on a loopback port, with clients that write every byte themselves.
#include "tests/unit/daemon/rtsp_bed.h"

#include <netinet/tcp.h>
#include <sys/syscall.h>

static int set_up(void **state)
{
    *state = rtsp_bed_new("");
    return 0;
}

static int set_up_small(void **state)
{
    *state = rtsp_bed_new("connections = 2;");
    return 0;
}

static int tear_down(void **state)
{
    rtsp_bed_free(*state);
    return 0;
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
    struct rtsp_client client;

    client_connect(&client, *state);
    assert_int_equal(client_status(&client, *state, "OPTIONS", ""), 200);
    assert_true(sends_at_once(client.fd));
    client_finish(&client);
}

// Requests behind a DESCRIBE wait with it.
TEST(test_a_describe_that_waits_keeps_its_turn, set_up, tear_down)
{
    struct rtsp_bed *bed = *state;
    struct rtsp_client client;
    g_autofree char *requests = g_strdup_printf("DESCRIBE %s RTSP/1.0\r\nCSeq: 1\r\n\r\n"
                                                "DESCRIBE %s RTSP/1.0\r\nCSeq: 2\r\n\r\n"
                                                "OPTIONS * RTSP/1.0\r\nCSeq: 3\r\n\r\n",
                                                bed->url, bed->url);

    client_connect(&client, bed);
    client_send(&client, requests, strlen(requests));
    while (!stream_is_watched(bed->stream)) // which starts the camera
        client_turn(&client);
    rtsp_bed_send_frame(bed, 100);
    for (int sequence = 1; sequence <= 3; sequence++) {
        g_autofree char *reply = client_read_reply(&client);
        g_autofree char *line = g_strdup_printf("\r\nCSeq: %d\r\n", sequence);

        assert_int_equal(status_of(reply), 200);
        assert_non_null(strstr(reply, line));
    }
    assert_false(stream_is_watched(bed->stream));
    client_finish(&client);
}

TEST(test_without_a_picture_describe_is_answered_soon, set_up, tear_down)
{
    struct rtsp_client client;
    int64_t begin_ns = clock_now_ns();

    client_connect(&client, *state);
    g_autofree char *reply = client_ask(&client, *state, "DESCRIBE", NULL, "");
    assert_int_equal(status_of(reply), 503);
    assert_non_null(strstr(reply, "Retry-After: 1\r\n"));
    assert_lasted(begin_ns, 600 * NS_PER_MS, 1000 * NS_PER_MS);
    client_finish(&client);
}

TEST(test_a_viewer_that_goes_while_describe_waits_is_forgotten, set_up, tear_down)
{
    struct rtsp_bed *bed = *state;
    struct rtsp_client client;
    g_autofree char *request = g_strdup_printf("DESCRIBE %s RTSP/1.0\r\nCSeq: 1\r\n\r\n", bed->url);
    int64_t begin_ns = clock_now_ns();

    client_connect(&client, bed);
    client_send(&client, request, strlen(request));
    client_finish(&client);
    while (stream_is_watched(bed->stream)) {
        assert_true(clock_now_ns() - begin_ns < PATIENCE_NS);
        g_main_context_iteration(NULL, TRUE);
    }
}

TEST(test_the_oldest_idle_connection_makes_room, set_up_small, tear_down)
{
    struct rtsp_bed *bed = *state;
    struct rtsp_client playing, idle, third, fourth;

    client_connect(&playing, bed);
    g_autofree char *session = client_play(&playing, bed);
    client_connect(&idle, bed);
    assert_int_equal(client_status(&idle, bed, "OPTIONS", ""), 200);
    client_connect(&third, bed);
    assert_int_equal(client_status(&third, bed, "OPTIONS", ""), 200);
    client_wait_end(&idle);
    assert_int_equal(client_status(&playing, bed, "GET_PARAMETER", session), 200);

    // Where all play there is no room.
    g_autofree char *session_of_third = client_play(&third, bed);
    client_connect(&fourth, bed);
    client_wait_end(&fourth);
    assert_int_equal(client_status(&playing, bed, "GET_PARAMETER", session), 200);
    assert_int_equal(client_status(&third, bed, "GET_PARAMETER", session_of_third), 200);
    client_finish(&playing);
    client_finish(&idle);
    client_finish(&third);
    client_finish(&fourth);
}

// It may still be sending, and would not read an answer after a reset.
TEST(test_one_that_is_refused_is_not_reset, set_up, tear_down)
{
    g_autofree char *request = g_strnfill(200000, 'a');
    struct rtsp_client client;

    client_connect(&client, *state);
    client_send(&client, request, strlen(request));
    g_autofree char *reply = client_read_reply(&client);
    assert_int_equal(status_of(reply), 400);
    client_wait_end(&client);
    assert_false(client.reset);
    client_finish(&client);
}

// Over a link that is slower than one of the streams.
TEST(test_streams_of_one_connection_take_turns, set_up, tear_down)
{
    static uint8_t packet[65535];
    size_t size, all = 0, taken[2] = {0};
    struct rtsp_bed *bed = *state;
    struct rtsp_client client;
    int channel;

    client_connect(&client, bed);
    g_autofree char *first = client_play(&client, bed);
    g_autofree char *second = client_play(&client, bed);
    for (; all < 4 << 20; all = taken[0] + taken[1]) {
        rtsp_bed_send_frame(bed, 100000); // more than a turn reads
        client_turn(&client);
        while (client_take_packet(&client, &channel, packet, &size))
            taken[channel / 2] += size;
    }
    assert_in_range(taken[0], all / 3, all - all / 3);
    client_finish(&client);
}

#define TRIES_MAX 1000u // so that a test that fails comes to an end

static int accept_error; // 0: the kernel's own
static unsigned tries;

// In place of the C library's: a machine that cannot let clients in.
int accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
    if (accept_error && tries < TRIES_MAX) {
        tries++;
        errno = accept_error;
        return -1;
    }
    return (int)syscall(SYS_accept4, fd, address, size, flags);
}

// It would turn in the main loop without an end, and nobody be served.
static void check_waits(struct rtsp_bed *bed, int error)
{
    struct rtsp_client client;

    accept_error = error;
    tries = 0;
    client_connect(&client, bed);
    for (int i = 0; i < 50; i++)
        client_turn(&client);
    assert_in_range(tries, 1, TRIES_MAX / 10); // once, and once a second
    accept_error = 0;
    assert_int_equal(client_status(&client, bed, "OPTIONS", ""), 200);
    client_finish(&client);
}

TEST(test_clients_that_cannot_be_let_in_wait_their_turn)
{
    struct rtsp_bed *bed = rtsp_bed_new("");

    check_waits(bed, ENFILE);
    check_waits(bed, ENOBUFS);
    check_waits(bed, ENOMEM);
    rtsp_bed_free(bed);
}

TEST(test_who_plays_nothing_makes_room_for_one_that_cannot_be_let_in)
{
    struct rtsp_bed *bed = rtsp_bed_new("");
    struct rtsp_client idle, playing;

    rtsp_bed_send_frame(bed, 100);
    client_connect(&playing, bed);
    g_free(client_play(&playing, bed));
    client_connect(&idle, bed);
    assert_int_equal(client_status(&idle, bed, "OPTIONS", ""), 200);
    check_waits(bed, ENFILE);
    client_wait_end(&idle);
    assert_int_equal(client_status(&playing, bed, "OPTIONS", ""), 200);
    client_finish(&idle);
    client_finish(&playing);
    rtsp_bed_free(bed);
}

RUN_TESTS(NULL, NULL)
