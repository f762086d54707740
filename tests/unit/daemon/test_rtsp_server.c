// The RTSP server on a loopback port, with clients that write every byte themselves.
#include "tests/unit/daemon/rtsp_bed.h"

#include <netinet/tcp.h>

static int set_up(void **state)
{
    *state = rtsp_bed_new("");
    return 0;
}

static int set_up_small(void **state)
{
    *state = rtsp_bed_new("connections = 2; sessions = 2; requests_a_second = 20;");
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

TEST(test_a_stream_is_described_set_up_played_and_left, set_up, tear_down)
{
    struct rtsp_bed *bed = *state;
    struct rtsp_client client;
    uint8_t packet[65535];
    unsigned sequence;

    rtsp_bed_send_frame(bed, 100);
    client_connect(&client, bed);
    g_autofree char *described = client_ask(&client, bed, "DESCRIBE", NULL, "");
    assert_int_equal(status_of(described), 200);
    assert_non_null(strstr(described, "CSeq: 7\r\n"));
    assert_non_null(strstr(described, "Content-Type: application/sdp\r\n"));
    assert_non_null(strstr(described, "\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n"));
    assert_non_null(strstr(described, ";profile-level-id=42C01F;"));

    g_autofree char *session = client_set_up(&client, bed);
    g_autofree char *played = client_ask(&client, bed, "PLAY", NULL, session);
    assert_int_equal(status_of(played), 200);
    const char *seq = strstr(played, ";seq=");
    assert_non_null(seq);
    assert_int_equal(sscanf(seq, ";seq=%u;", &sequence), 1);
    assert_int_equal(rtsp_server_count_viewers(bed->server, "/front/edges"), 1);
    assert_int_equal(rtsp_server_count_viewers(bed->server, "/front/plain"), 0);
    assert_int_equal(rtsp_server_count_viewers(bed->server, NULL), 1);

    rtsp_bed_send_frame(bed, 100);
    // STAP-A of the parameter sets, then the slice, which ends the access unit.
    static const uint8_t sets[] = {0x78, 0, 5, 0x67, 0x42, 0xc0, 0x1f,
                                   0x99, 0, 4, 0x68, 0xce, 0x3c, 0x80};
    assert_int_equal(client_read_packet(&client, 0, packet), 12 + sizeof sets);
    assert_int_equal(packet[0], 0x80);
    assert_int_equal(packet[1], 96);
    assert_int_equal(packet[2] << 8 | packet[3], sequence);
    assert_memory_equal(packet + 12, sets, sizeof sets);
    assert_int_equal(client_read_packet(&client, 0, packet), 12 + 101);
    assert_int_equal(packet[1], 0x80 | 96);
    assert_int_equal(packet[2] << 8 | packet[3], (sequence + 1) & 0xffff);
    assert_int_equal(packet[12], 0x65);

    assert_int_equal(client_status(&client, bed, "TEARDOWN", session), 200);
    assert_int_equal(client.size, 0); // nothing of it follows
    assert_int_equal(rtsp_server_count_viewers(bed->server, NULL), 0);
    assert_int_equal(client_status(&client, bed, "PLAY", session), 454);
    client_finish(&client);
}

TEST(test_requests_that_come_together_are_answered_in_order, set_up, tear_down)
{
    static const char three[] = "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n"
                                "\r\nOPTIONS * RTSP/1.0\r\nCSeq: 2\r\n\r\n"
                                "JUMP * RTSP/1.0\r\nCSeq: 3\r\n\r\n";
    static const char *const answers[] = {"RTSP/1.0 200 OK\r\nCSeq: 1\r\n",
                                          "RTSP/1.0 200 OK\r\nCSeq: 2\r\n",
                                          "RTSP/1.0 501 Not Implemented\r\nCSeq: 3\r\n"};
    struct rtsp_client client;

    client_connect(&client, *state);
    client_send(&client, three, strlen(three));
    for (size_t i = 0; i < ARRAY_LENGTH(answers); i++) {
        g_autofree char *reply = client_read_reply(&client);

        assert_non_null(reply);
        assert_true(g_str_has_prefix(reply, answers[i]));
    }
    client_finish(&client);
}

// What comes behind a DESCRIBE waits with it.
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
    while (!stream_is_watched(bed->stream)) { // which starts the camera
        client_turn(&client);
    }
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

TEST(test_requests_may_come_one_byte_at_a_time, set_up, tear_down)
{
    struct rtsp_bed *bed = *state;
    struct rtsp_client client;
    g_autofree char *request = g_strdup_printf(
        "SETUP %s/stream=0 RTSP/1.0\r\nCSeq: 4\r\nTransport: RTP/AVP/TCP;interleaved=4-5\r\n"
        "Content-Length: 3\r\n\r\nabc",
        bed->url);

    client_connect(&client, bed);
    for (size_t i = 0; i < strlen(request); i++) {
        assert_int_equal(client.size, 0);
        client_send(&client, request + i, 1);
    }
    g_autofree char *reply = client_read_reply(&client);
    assert_int_equal(status_of(reply), 200);
    assert_non_null(strstr(reply, "RTP/AVP/TCP;unicast;interleaved=4-5;"));
    client_finish(&client);
}

TEST(test_a_stolen_session_is_answered_454_by_every_method, set_up, tear_down)
{
    static const char *const methods[] = {"OPTIONS", "DESCRIBE", "SETUP",         "PLAY",
                                          "PAUSE",   "TEARDOWN", "GET_PARAMETER", "SET_PARAMETER"};
    struct rtsp_bed *bed = *state;
    struct rtsp_client owner, thief;

    rtsp_bed_send_frame(bed, 100);
    client_connect(&owner, bed);
    client_connect(&thief, bed);
    g_autofree char *session = client_play(&owner, bed);
    g_autofree char *lines = g_strconcat("Transport: RTP/AVP/TCP\r\n", session, NULL);
    for (size_t i = 0; i < ARRAY_LENGTH(methods); i++) {
        assert_int_equal(client_status(&thief, bed, methods[i], lines), 454);
    }
    assert_int_equal(rtsp_server_count_viewers(bed->server, NULL), 1);
    assert_int_equal(client_status(&owner, bed, "GET_PARAMETER", session), 200);
    // Part of an id is none.
    g_autofree char *part = g_strndup(session, strlen(session) - 3);
    g_autofree char *line = g_strconcat(part, "\r\n", NULL);
    assert_int_equal(client_status(&owner, bed, "PAUSE", line), 454);
    assert_int_equal(client_status(&owner, bed, "PAUSE", "Session: \r\n"), 454);
    client_finish(&owner);
    client_finish(&thief);
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

TEST(test_one_session_too_many_is_answered_453, set_up_small, tear_down)
{
    struct rtsp_client client;
    static const char transport[] = "Transport: RTP/AVP/TCP\r\n";

    client_connect(&client, *state);
    g_autofree char *playing = client_play(&client, *state);
    g_autofree char *reply = client_ask(&client, *state, "SETUP", NULL, transport);
    assert_int_equal(status_of(reply), 200);
    assert_non_null(strstr(reply, "interleaved=2-3;")); // a channel of its own
    g_autofree char *second = g_strdup_printf(
        "%.*s\r\n", (int)strcspn(strstr(reply, "Session:"), ";"), strstr(reply, "Session:"));
    assert_int_equal(client_status(&client, *state, "PLAY", second), 200);
    assert_int_equal(client_status(&client, *state, "SETUP", transport), 453);
    client_finish(&client);
}

TEST(test_too_many_requests_end_the_connection, set_up_small, tear_down)
{
    struct rtsp_client client;
    GString *requests = g_string_new(NULL);
    int status = 0;

    for (int i = 0; i < 200; i++) { // at once: within a second
        g_string_append(requests, "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n");
    }
    client_connect(&client, *state);
    client_send(&client, requests->str, requests->len);
    for (int i = 0; i < 200 && status != 429; i++) {
        g_autofree char *reply = client_read_reply(&client);

        status = status_of(reply);
    }
    assert_int_equal(status, 429);
    client_wait_end(&client);
    g_string_free(requests, TRUE);
    client_finish(&client);
}

TEST(test_what_cannot_be_read_ends_the_connection, set_up, tear_down)
{
    g_autofree char *long_head = g_strnfill(9000, 'a');
    g_autofree char *long_url = g_strnfill(3000, 'a');
    g_autofree char *url_request =
        g_strdup_printf("OPTIONS rtsp://h/%s RTSP/1.0\r\nCSeq: 1\r\n\r\n", long_url);
    const struct {
        const char *text;
        int status;
    } requests[] = {
        {"hello\r\n\r\n", 400},
        {"OPTIONS * HTPP/1.1\r\nCSeq: 1\r\n\r\n", 400},
        {"OPTIONS * RTSP/1.0\r\n\r\n", 400},
        {"OPTIONS * RTSP/2.0\r\nCSeq: 1\r\n\r\n", 505},
        {"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\nContent-Length: 4097\r\n\r\n", 413},
        {"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\nContent-Length: -1\r\n\r\n", 400},
        {long_head, 400},
        {url_request, 414},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(requests); i++) {
        struct rtsp_client client;

        client_connect(&client, *state);
        client_send(&client, requests[i].text, strlen(requests[i].text));
        g_autofree char *reply = client_read_reply(&client);
        assert_int_equal(status_of(reply), requests[i].status);
        client_wait_end(&client);
        client_finish(&client);
    }
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

TEST(test_a_packet_that_no_report_can_be_is_passed_over, set_up, tear_down)
{
    struct rtsp_client client;
    uint8_t *packet = calloc(1, 4 + 65535);

    memcpy(packet, "$\x01\xff\xff", 4);
    memset(packet + 4, 'O', 65535);
    client_connect(&client, *state);
    client_send(&client, packet, 4 + 65535);
    client_send(&client, "$\x09\0\0", 4); // of no session, and empty
    assert_int_equal(client_status(&client, *state, "OPTIONS", ""), 200);
    client_finish(&client);
    free(packet);
}

TEST(test_those_of_a_stream_are_hung_up_on_alone, set_up, tear_down)
{
    struct rtsp_bed *bed = *state;
    struct rtsp_client viewer, other;

    client_connect(&viewer, bed);
    client_connect(&other, bed);
    g_autofree char *session = client_play(&viewer, bed);
    assert_int_equal(client_status(&other, bed, "OPTIONS", ""), 200);
    rtsp_server_disconnect(bed->server, "/front/plain");
    assert_int_equal(client_status(&viewer, bed, "GET_PARAMETER", session), 200);
    rtsp_server_disconnect(bed->server, "/front/edges");
    client_wait_end(&viewer);
    assert_int_equal(client_status(&other, bed, "OPTIONS", ""), 200);
    assert_int_equal(rtsp_server_count_viewers(bed->server, NULL), 0);
    assert_false(stream_is_watched(bed->stream));

    rtsp_server_close(bed->server);
    client_wait_end(&other);
    client_finish(&viewer);
    client_finish(&other);
}

TEST(test_a_path_that_is_removed_is_not_found, set_up, tear_down)
{
    struct rtsp_bed *bed = *state;
    struct rtsp_client client;

    rtsp_bed_send_frame(bed, 100);
    client_connect(&client, bed);
    assert_int_equal(client_status(&client, bed, "DESCRIBE", ""), 200);
    rtsp_server_remove(bed->server, "/front/edges");
    assert_int_equal(client_status(&client, bed, "DESCRIBE", ""), 404);
    assert_int_equal(client_status(&client, bed, "SETUP", "Transport: RTP/AVP/TCP\r\n"), 404);
    client_finish(&client);
}

RUN_TESTS(NULL, NULL)
