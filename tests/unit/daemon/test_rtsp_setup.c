// What SETUP takes of what a client offers, where others have taken some of it before.
#include "tests/unit/daemon/rtsp_bed.h"

static int set_up(void **state)
{
    *state = rtsp_bed_new("");
    return 0;
}

static int tear_down(void **state)
{
    rtsp_bed_free(*state);
    return 0;
}

static void assert_set_up(struct rtsp_client *client, struct rtsp_bed *bed, const char *offers,
                          const char *taken)
{
    g_autofree char *header = g_strdup_printf("Transport: %s\r\n", offers);
    g_autofree char *reply = client_ask(client, bed, "SETUP", NULL, header);
    g_autofree char *expected = g_strdup_printf("Transport: %s;", taken);

    assert_int_equal(status_of(reply), 200);
    assert_non_null(strstr(reply, expected));
}

// RFC 2326, section 12.39: the server chooses the channels, and says which.
TEST(test_channels_that_are_taken_are_replaced, set_up, tear_down)
{
    struct rtsp_client client;

    client_connect(&client, *state);
    assert_set_up(&client, *state, "RTP/AVP/TCP;unicast;interleaved=2-3",
                  "RTP/AVP/TCP;unicast;interleaved=2-3");
    assert_set_up(&client, *state, "RTP/AVP/TCP;unicast;interleaved=2-3",
                  "RTP/AVP/TCP;unicast;interleaved=0-1");
    assert_set_up(&client, *state, "RTP/AVP/TCP;unicast;interleaved=1-2",
                  "RTP/AVP/TCP;unicast;interleaved=4-5");
    client_finish(&client);
}

// As of two players behind a router that translates addresses.
TEST(test_ports_of_another_viewer_are_refused_or_passed_over, set_up, tear_down)
{
    static const char taken[] = "RTP/AVP;unicast;client_port=61002-61003";
    struct rtsp_client first, second;

    client_connect(&first, *state);
    client_connect(&second, *state);
    assert_set_up(&first, *state, taken, taken);
    assert_int_equal(client_status(&second, *state, "SETUP",
                                   "Transport: RTP/AVP;unicast;client_port=61002-61003\r\n"),
                     461);
    assert_set_up(&second, *state,
                  "RTP/AVP;unicast;client_port=61002-61003,RTP/AVP/TCP;unicast;interleaved=0-1",
                  "RTP/AVP/TCP;unicast;interleaved=0-1");
    client_finish(&first);
    client_finish(&second);
}

RUN_TESTS(NULL, NULL)
