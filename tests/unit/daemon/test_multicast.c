// Streams by multicast: who gets a group, what goes there, and when it ends.
#include "tests/unit/caught_stderr.h"
#include "tests/unit/daemon/multicast_bed.h"

// Who comes later is told where the packets are, and sees the next picture whole.
TEST(test_a_newcomer_is_given_a_key_frame_and_takes_nothing_away, set_up, tear_down)
{
    struct multicast_bed *bed = *state;
    int fd = join(groups[0], port);
    unsigned told;
    uint32_t ssrc;

    g_free(play_client(bed, &bed->clients[0]));
    g_autofree char *second = set_up_client(bed, &bed->clients[1]);
    rtsp_bed_send_frame(bed->rtsp, 100);
    next_sequence(bed, fd, &ssrc);
    unsigned sequence = next_sequence(bed, fd, &ssrc);
    bed->key_frame_demands = 0;
    g_autofree char *reply = client_ask(&bed->clients[1], bed->rtsp, "PLAY", NULL, second);
    assert_int_equal(sscanf(strstr(reply, ";seq="), ";seq=%u;", &told), 1);
    assert_int_equal(told, (sequence + 1) & 0xffff);
    while (bed->key_frame_demands == 0) { // one was asked for just before, for the first client
        client_turn(&bed->clients[0]);
    }
    assert_int_equal(client_status(&bed->clients[1], bed->rtsp, "PLAY", second), 200);
    client_turn(&bed->clients[0]);
    assert_int_equal(bed->key_frame_demands, 1); // it has been given one
    rtsp_bed_send_frame(bed->rtsp, 100);
    assert_int_equal(next_sequence(bed, fd, &ssrc), told);
    close(fd);
}

TEST(test_packets_go_while_one_member_plays, set_up, tear_down)
{
    struct multicast_bed *bed = *state;
    int fd = join(groups[0], port);
    g_autofree char *first = play_client(bed, &bed->clients[0]);
    g_autofree char *second = play_client(bed, &bed->clients[1]);
    uint32_t ssrc;

    assert_int_equal(client_status(&bed->clients[0], bed->rtsp, "PAUSE", first), 200);
    assert_int_equal(rtsp_server_count_viewers(bed->rtsp->server, NULL), 1);
    rtsp_bed_send_frame(bed->rtsp, 100);
    next_sequence(bed, fd, &ssrc);
    next_sequence(bed, fd, &ssrc);

    assert_int_equal(client_status(&bed->clients[1], bed->rtsp, "PAUSE", second), 200);
    rtsp_bed_send_frame(bed->rtsp, 100);
    client_turn(&bed->clients[0]);
    assert_silent(fd);

    assert_int_equal(client_status(&bed->clients[0], bed->rtsp, "PLAY", first), 200);
    rtsp_bed_send_frame(bed->rtsp, 100);
    next_sequence(bed, fd, &ssrc);
    next_sequence(bed, fd, &ssrc);
    assert_int_equal(client_status(&bed->clients[0], bed->rtsp, "TEARDOWN", first), 200);
    rtsp_bed_send_frame(bed->rtsp, 100);
    client_turn(&bed->clients[1]);
    assert_silent(fd);
    assert_non_null(rtsp_server_multicast(bed->rtsp->server, "/front/edges"));
    assert_int_equal(client_status(&bed->clients[1], bed->rtsp, "TEARDOWN", second), 200);
    assert_null(rtsp_server_multicast(bed->rtsp->server, "/front/edges"));
    assert_false(stream_is_watched(bed->rtsp->stream));
    close(fd);
}

TEST(test_who_hangs_up_leaves_the_group, set_up, tear_down)
{
    struct multicast_bed *bed = *state;

    g_free(play_client(bed, &bed->clients[0]));
    shutdown(bed->clients[0].fd, SHUT_RDWR);
    while (rtsp_server_multicast(bed->rtsp->server, "/front/edges")) {
        client_turn(&bed->clients[1]);
    }
    assert_false(stream_is_watched(bed->rtsp->stream));
}

static int status_of_setup(struct multicast_bed *bed, const char *path, struct rtsp_client *client)
{
    g_autofree char *url = g_strconcat(rtsp_server_url(bed->rtsp->server), path, NULL);
    g_autofree char *reply = client_ask(client, bed->rtsp, "SETUP", url, MULTICAST);

    return status_of(reply);
}

static void add_stream(struct multicast_bed *bed, const char *path, enum config_role role)
{
    struct stream *stream;

    assert_int_equal(stream_new(path, &payload_h264, 4000, &stream), 0);
    rtsp_server_add(bed->rtsp->server, path, stream, role);
    stream_unref(stream);
}

TEST(test_what_a_client_offers_besides_is_tried_next, set_up, tear_down)
{
    struct multicast_bed *bed = *state;
    struct rtsp_client *client = &bed->clients[0];

    assert_int_equal(status_of_setup(bed, "/front/edges", client), 200);
    add_stream(bed, "/front/gray", CONFIG_ROLE_VIEWER);
    assert_int_equal(status_of_setup(bed, "/front/gray", client), 200);
    add_stream(bed, "/front/thin", CONFIG_ROLE_VIEWER);
    g_autofree char *url = g_strconcat(rtsp_server_url(bed->rtsp->server), "/front/thin", NULL);
    g_autofree char *reply =
        client_ask(client, bed->rtsp, "SETUP", url,
                   "Transport: RTP/AVP;multicast,RTP/AVP/TCP;unicast;interleaved=6-7\r\n");
    assert_int_equal(status_of(reply), 200);
    assert_non_null(strstr(reply, "Transport: RTP/AVP/TCP;unicast;interleaved=6-7;"));
}

// A group asks nobody who joins it.
TEST(test_what_not_everybody_may_watch_has_no_group, set_up, tear_down)
{
    struct multicast_bed *bed = *state;

    add_stream(bed, "/front/door", CONFIG_ROLE_OPERATOR);
    assert_int_equal(status_of_setup(bed, "/front/door", &bed->clients[0]), 461);
}

static int set_up_limited(void **state)
{
    choose_groups();
    g_autofree char *settings = pool("}; limits = { sessions_a_connection = 2; ");

    return set_up_with(state, settings);
}

TEST(test_members_are_sessions_that_are_limited, set_up_limited, tear_down)
{
    struct multicast_bed *bed = *state;
    struct rtsp_client *client = &bed->clients[0];

    assert_int_equal(client_status(client, bed->rtsp, "SETUP", MULTICAST), 200);
    assert_int_equal(client_status(client, bed->rtsp, "SETUP", MULTICAST), 200);
    assert_int_equal(client_status(client, bed->rtsp, "SETUP", MULTICAST), 453);
}

static int set_up_unplugged(void **state)
{
    choose_groups();
    g_autofree char *settings = pool("interface = \"not0there\"; }; auth = \"none\"; limits = { ");

    return set_up_with(state, settings);
}

TEST(test_an_interface_that_is_not_there_is_told_of, set_up_unplugged, tear_down)
{
    struct multicast_bed *bed = *state;
    char text[4096] = "";

    catch_stderr();
    assert_int_equal(client_status(&bed->clients[0], bed->rtsp, "SETUP", MULTICAST), 461);
    rewind(caught);
    assert_true(fread(text, 1, sizeof text - 1, caught) > 0);
    release_stderr();
    assert_non_null(strstr(text, " by not0there: No such device, refusing it"));
}

TEST(test_a_reload_with_another_pool_is_for_groups_to_come, set_up, tear_down)
{
    struct multicast_bed *bed = *state;
    _cleanup_(cleanup_config) struct config *config = NULL;
    g_autofree char *first = play_client(bed, &bed->clients[0]);
    g_autofree char *text = g_strdup_printf(
        "rtsp = { port = 0; multicast = { addresses = \"%s\"; }; };", name_of(groups[1]));

    assert_int_equal(config_parse(text, "test.conf", stderr, &config), 0);
    rtsp_server_configure(bed->rtsp->server, config);
    g_autofree char *second = set_up_client(bed, &bed->clients[1]);
    const struct multicast_place *place = rtsp_server_multicast(bed->rtsp->server, "/front/edges");
    assert_string_equal(place->address, name_of(groups[0]));
    assert_int_equal(client_status(&bed->clients[0], bed->rtsp, "TEARDOWN", first), 200);
    assert_int_equal(client_status(&bed->clients[1], bed->rtsp, "TEARDOWN", second), 200);
    g_autofree char *third = ask_for_group(bed, &bed->clients[1]);
    assert_non_null(strstr(third, name_of(groups[1])));
}

RUN_TESTS(NULL, NULL)
