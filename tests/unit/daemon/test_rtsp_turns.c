// Several streams on one connection.
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

// Over a link that is slower than one of them.
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
        while (client_take_packet(&client, &channel, packet, &size)) {
            taken[channel / 2] += size;
        }
    }
    assert_in_range(taken[0], all / 3, all - all / 3);
    client_finish(&client);
}

RUN_TESTS(NULL, NULL)
