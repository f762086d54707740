// Viewers whose transport takes too little, or nothing.
#include "tests/unit/daemon/rtp_sender_bed.h"

TEST(test_a_blocked_transport_goes_on_with_the_packet_it_stopped_at, set_up_playing_viewer,
     tear_down_viewer)
{
    struct sender_bed *bed = *state;

    bed->room = 2;
    send_frame(bed, true, clock_now_ns(), 1 + 3 * 1398 + 1, 11); // four fragments
    send_frame(bed, false, clock_now_ns(), 100, 12);
    assert_int_equal(bed->count, 2);
    bed->room = 1;
    bed->transport.writable(bed->transport.context);
    assert_int_equal(bed->count, 3);
    bed->room = 0;
    bed->transport.writable(bed->transport.context);
    assert_int_equal(bed->count, 3);
    bed->room = SENT_MAX;
    bed->transport.writable(bed->transport.context);
    assert_int_equal(bed->count, 5);
    assert_sequence(bed, 0);
    assert_true(bed->sent[3].marker);
    assert_int_equal(step(bed, 3), 0);
    assert_int_equal(bed->sent[4].last, 12);
    send_frame(bed, false, clock_now_ns(), 100, 13);
    assert_int_equal(bed->sent[5].last, 13);
}

TEST(test_what_waits_keeps_its_time_stamp, set_up_playing_viewer, tear_down_viewer)
{
    struct sender_bed *bed = *state;
    int64_t now_ns = clock_now_ns() - NS_PER_S;

    send_frame(bed, true, now_ns, 100, 11);
    bed->room = 0;
    send_frame(bed, false, now_ns + 40 * NS_PER_MS, 100, 12);
    for (int i = 0; i < 9; i++) {
        bed->transport.writable(bed->transport.context);
    }
    bed->room = SENT_MAX;
    bed->transport.writable(bed->transport.context);
    assert_int_equal(bed->count, 2);
    assert_in_range(step(bed, 1), 3599, 3601);
}

// It is in the middle of a frame that the ring has long dropped: that one is completed.
TEST(test_a_slow_viewer_loses_frames_and_no_sequence_number, set_up_playing_viewer,
     tear_down_viewer)
{
    struct sender_bed *bed = *state;
    struct stream_statistics counted = {0};
    int64_t now_ns = clock_now_ns();

    bed->room = 2;
    send_frame(bed, true, now_ns, 1 + 2 * 1398 + 1, 11);
    for (int i = 0; i < 50; i++) { // 2 MB are kept
        send_frame(bed, i == 40, now_ns, 100000, 12 + (uint8_t)i);
    }
    bed->room = SENT_MAX;
    bed->transport.writable(bed->transport.context);
    assert_true(bed->sent[2].marker);
    assert_int_equal(bed->sent[2].last, 11);
    assert_int_equal(bed->sent[bed->count - 1].last, 12 + 49);
    assert_sequence(bed, 0);
    assert_int_equal(bed->sent[3].first, 0x7c); // a fragment of importance 3: of an IDR picture
    assert_int_equal(bed->count, 3 + 10 * ((100000 - 1 + 1397) / 1398));
    stream_count(bed->stream, &counted);
    assert_int_equal(counted.dropped, 40);
}

TEST(test_one_that_takes_nothing_for_9_s_has_stalled, set_up_playing_viewer, tear_down_viewer)
{
    struct sender_bed *bed = *state;
    int64_t begin_ns = clock_now_ns();

    assert_int_equal(rtp_sender_stalled_ns(bed->sender), INT64_MAX); // nothing waits
    bed->room = 1;
    send_frame(bed, true, clock_now_ns(), 1 + 2 * 1398, 11);
    int64_t stalled_ns = rtp_sender_stalled_ns(bed->sender);
    assert_in_range(stalled_ns, begin_ns + 9 * NS_PER_S, clock_now_ns() + 9 * NS_PER_S);
    // What it takes counts, be it one packet.
    bed->room = 0;
    bed->transport.writable(bed->transport.context);
    assert_int_equal(rtp_sender_stalled_ns(bed->sender), stalled_ns);
    bed->room = 1;
    bed->transport.writable(bed->transport.context);
    assert_int_equal(rtp_sender_stalled_ns(bed->sender), INT64_MAX);
}

TEST(test_progress_puts_the_stall_off, set_up_playing_viewer, tear_down_viewer)
{
    struct sender_bed *bed = *state;

    bed->room = 1;
    send_frame(bed, true, clock_now_ns(), 1 + 3 * 1398, 11);
    int64_t begin_ns = clock_now_ns();
    while (clock_now_ns() - begin_ns < 5 * NS_PER_MS) {
    }
    bed->room = 1;
    bed->transport.writable(bed->transport.context);
    assert_in_range(rtp_sender_stalled_ns(bed->sender), begin_ns + 9 * NS_PER_S + 5 * NS_PER_MS,
                    clock_now_ns() + 9 * NS_PER_S);
}

TEST(test_a_transport_that_fails_is_told_once, set_up_playing_viewer, tear_down_viewer)
{
    struct sender_bed *bed = *state;

    bed->room = -EPIPE;
    send_frame(bed, true, clock_now_ns(), 100, 11);
    assert_int_equal(bed->breaks, 1);
    send_frame(bed, true, clock_now_ns(), 100, 12);
    assert_int_equal(bed->breaks, 1);
}

static void on_broken_free(void *context)
{
    struct sender_bed *bed = context;

    bed->breaks++;
    rtp_sender_free(bed->sender);
    bed->sender = NULL;
}

TEST(test_a_viewer_may_be_freed_when_its_transport_fails)
{
    struct sender_bed *bed = calloc(1, sizeof *bed);

    bed->transport.ops = &test_transport;
    bed->room = -EPIPE;
    assert_int_equal(stream_new("/front/edges", &payload_h264, 4000, &bed->stream), 0);
    assert_int_equal(
        rtp_sender_new(bed->stream, &bed->transport, on_broken_free, bed, &bed->sender), 0);
    rtp_sender_play(bed->sender);
    send_frame(bed, true, clock_now_ns(), 100, 11);
    assert_int_equal(bed->breaks, 1);
    assert_int_equal(bed->frees, 1);
    assert_false(stream_is_watched(bed->stream));
    stream_unref(bed->stream);
    free(bed);
}

RUN_TESTS(NULL, NULL)
