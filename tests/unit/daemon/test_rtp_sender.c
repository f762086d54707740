// What a viewer is sent: RTP's numbers, and what it reports.
#include "tests/unit/daemon/rtp_sender_bed.h"

TEST(test_nothing_is_sent_before_play, set_up_viewer, tear_down_viewer)
{
    struct sender_bed *bed = *state;
    uint16_t sequence;
    uint32_t timestamp;

    send_frame(bed, true, clock_now_ns(), 100, 11);
    assert_int_equal(bed->count, 0);
    assert_false(rtp_sender_is_playing(bed->sender));
    rtp_sender_position(bed->sender, &sequence, &timestamp);
    int64_t begin_ns = clock_now_ns();
    rtp_sender_play(bed->sender);
    assert_true(rtp_sender_is_playing(bed->sender));
    send_frame(bed, false, clock_now_ns(), 100, 12);
    assert_int_equal(bed->count, 0);
    send_frame(bed, true, begin_ns, 100, 13);
    assert_int_equal(bed->count, 1);
    // RTP-Info names it: RFC 2326, section 12.33.
    assert_int_equal(bed->sent[0].header.sequence, sequence);
    assert_in_range((int32_t)(bed->sent[0].header.timestamp - timestamp), 0, 60 * 90000);
    assert_int_equal(bed->sent[0].header.ssrc, rtp_sender_ssrc(bed->sender));
    assert_int_equal(bed->sent[0].header.payload_type, 96);
    assert_true(bed->sent[0].marker);
}

TEST(test_sequence_numbers_go_on_after_65535, set_up_playing_viewer, tear_down_viewer)
{
    struct sender_bed *bed = *state;
    uint16_t first = 0;

    for (unsigned sent = 0; sent < 70000; sent += 1000) {
        bed->room = SENT_MAX;
        send_frame(bed, true, clock_now_ns(), 1 + 1000 * 1398, 11);
        assert_int_equal(bed->count, 1000);
        if (sent == 0) {
            first = bed->sent[0].header.sequence;
        }
        assert_int_equal(bed->sent[0].header.sequence, (uint16_t)(first + sent));
        assert_sequence(bed, 0);
        bed->count = 0;
    }
}

// 90 kHz: 40 ms are 3600. Times that stand still or go back become one that is 1 ms later.
TEST(test_time_stamps_are_those_of_the_capture_and_only_grow, set_up_playing_viewer,
     tear_down_viewer)
{
    static const int captured_ms[] = {0, 40, 80, 79, 80, 81, 120, 1120, 1120};
    static const int steps[] = {0, 3600, 3600, 90, 90, 90, 3330, 90000, 90};
    struct sender_bed *bed = *state;
    int64_t base_ns = clock_now_ns() - 5 * NS_PER_S;

    for (size_t i = 0; i < ARRAY_LENGTH(captured_ms); i++) {
        send_frame(bed, true, base_ns + captured_ms[i] * NS_PER_MS, 100, 11);
        assert_int_equal(bed->count, i + 1);
        if (i > 0) {
            // The clock's fractions of a tick.
            assert_in_range(step(bed, (unsigned)i), steps[i] - 1, steps[i] + 1);
        }
    }
}

// A camera process is replaced: sequence numbers, times and SSRC go on through the slates.
TEST(test_a_viewer_sees_a_slate_as_part_of_the_stream, set_up_playing_viewer, tear_down_viewer)
{
    struct sender_bed *bed = *state;
    static const uint8_t marks[] = {11, 'a', 'b', 13};

    send_slate(bed, 'a');
    send_slate(bed, 'b');
    send_frame(bed, true, clock_now_ns(), 100, 11);
    stream_interrupt(bed->stream);
    send_frame(bed, false, clock_now_ns(), 100, 12); // of a process that is new
    stream_interrupt(bed->stream);
    send_frame(bed, true, clock_now_ns(), 100, 13);
    assert_int_equal(bed->count, ARRAY_LENGTH(marks));
    assert_sequence(bed, 0);
    for (unsigned i = 0; i < ARRAY_LENGTH(marks); i++) {
        assert_int_equal(bed->sent[i].last, marks[i]);
        assert_true(i == 0 || (step(bed, i) >= 90 && step(bed, i) < 60 * 90000));
    }
}

TEST(test_a_pause_ends_in_a_key_frame, set_up_playing_viewer, tear_down_viewer)
{
    struct sender_bed *bed = *state;

    bed->room = 1;
    send_frame(bed, true, clock_now_ns(), 1 + 2 * 1398, 11);
    rtp_sender_pause(bed->sender);
    bed->room = SENT_MAX;
    assert_false(rtp_sender_is_playing(bed->sender));
    bed->transport.writable(bed->transport.context);
    send_frame(bed, true, clock_now_ns(), 100, 12);
    assert_int_equal(bed->count, 1);
    assert_int_equal(rtp_sender_stalled_ns(bed->sender), INT64_MAX);
    rtp_sender_play(bed->sender);
    rtp_sender_play(bed->sender); // once more changes nothing
    send_frame(bed, false, clock_now_ns(), 100, 13);
    assert_int_equal(bed->count, 1);
    send_frame(bed, true, clock_now_ns(), 100, 14);
    assert_int_equal(bed->count, 2);
    assert_int_equal(bed->sent[1].last, 14);
    assert_sequence(bed, 0);
    assert_in_range(step(bed, 1), 90, 60 * 90000);
}

static void iterate_until_asked(struct sender_bed *bed, unsigned key_frames)
{
    int64_t begin_ns = clock_now_ns();

    while (bed->key_frame_demands < key_frames) {
        assert_true(clock_now_ns() - begin_ns < PATIENCE_NS);
        g_main_context_iteration(NULL, TRUE);
    }
}

// RFC 4585, section 6.3.1, and RFC 5104, section 4.3.1.
TEST(test_a_lost_picture_asks_for_a_key_frame, set_up_playing_viewer, tear_down_viewer)
{
    static const uint8_t pli[] = {0x81, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2};
    static const uint8_t report[] = {0x80, 201, 0, 1, 0, 0, 0, 1};
    struct sender_bed *bed = *state;

    iterate_until_asked(bed, 1); // for the play
    int64_t begin_ns = clock_now_ns();
    assert_true(rtp_sender_take_rtcp(bed->sender, report, sizeof report));
    while (bed->key_frame_demands == 1) { // at most one in 250 ms is asked for
        assert_true(clock_now_ns() - begin_ns < PATIENCE_NS);
        assert_true(rtp_sender_take_rtcp(bed->sender, pli, sizeof pli));
        g_main_context_iteration(NULL, FALSE);
    }
    assert_false(rtp_sender_take_rtcp(bed->sender, (const uint8_t *)"hello", 5));
    assert_false(rtp_sender_take_rtcp(bed->sender, pli, sizeof pli - 1));
}

// A receiver's report and BYE (RFC 3550, section 6.6), as players send them where they end.
TEST(test_a_bye_is_no_sign_of_life_and_no_end, set_up_playing_viewer, tear_down_viewer)
{
    static const uint8_t bye[] = {0x80, 201, 0, 1, 0, 0, 0, 1, 0x81, 203, 0, 1, 0, 0, 0, 1};
    struct sender_bed *bed = *state;

    assert_false(rtp_sender_take_rtcp(bed->sender, bye, sizeof bye));
    assert_true(rtp_sender_take_rtcp(bed->sender, bye, 8)); // the report alone
    assert_true(rtp_sender_is_playing(bed->sender));
}

TEST(test_a_report_every_five_seconds_counts_what_was_sent, set_up_playing_viewer, tear_down_viewer)
{
    struct sender_bed *bed = *state;
    int64_t now_ns = clock_now_ns();

    rtp_sender_tick(bed->sender, now_ns);
    assert_int_equal(bed->reports, 0); // of nothing
    send_frame(bed, true, now_ns, 1 + 2 * 1398, 11);
    rtp_sender_tick(bed->sender, now_ns);
    rtp_sender_tick(bed->sender, now_ns + 4 * NS_PER_S);
    assert_int_equal(bed->reports, 1);
    rtp_sender_tick(bed->sender, now_ns + 5 * NS_PER_S);
    assert_int_equal(bed->reports, 2);
    // SR (RFC 3550, section 6.4.1): SSRC, NTP time, RTP time, packets, octets of payload.
    assert_int_equal(bed->report[1], 200);
    assert_int_equal(rtp_get32(bed->report + 4), rtp_sender_ssrc(bed->sender));
    // Its time is on the frames' clock: the frame was captured 5 s before.
    assert_in_range(rtp_get32(bed->report + 16) - bed->sent[0].header.timestamp, 5 * 90000 - 1,
                    5 * 90000 + 1);
    assert_int_equal(rtp_get32(bed->report + 20), 2);
    assert_int_equal(rtp_get32(bed->report + 24), 2 * 1400);
}

static void on_wake(void *context)
{
    (void)context;
}

static struct ring *find_ring(struct stream *stream)
{
    struct stream_reader reader;

    stream_watch(stream, &reader, on_wake, NULL);
    struct ring *ring = reader.ring;
    stream_leave(stream, &reader);
    return ring;
}

// RTP's 32 bits hold 13 h, half of them forwards. One frame in a day is as good as one in 40 ms.
TEST(test_a_long_pause_does_not_turn_time_back, set_up_playing_viewer, tear_down_viewer)
{
    struct sender_bed *bed = *state;
    const int64_t day_ns = 24 * 3600 * NS_PER_S;
    struct unit *first, *later, *last;
    int64_t now_ns = clock_now_ns();
    const struct unit_source source = {.memory = make_frame(0, true, 100, 11),
                                       .size = 104,
                                       .captured_ns = now_ns,
                                       .key_frame = true};
    struct parameter_sets sets = {0};

    // As if the stream had taken them at those times.
    assert_int_equal(unit_new(&source, &first), 0);
    assert_int_equal(payload_h264.packetize(first, &sets), 0);
    assert_int_equal(unit_again(first, now_ns + day_ns / 3, &later), 0); // 8 h
    assert_int_equal(unit_again(first, now_ns + day_ns / 3 + 40 * NS_PER_MS, &last), 0);
    struct ring *ring = find_ring(bed->stream);
    ring_add(ring, first);
    ring_add(ring, later);
    ring_add(ring, last);
    assert_int_equal(bed->count, 3);
    assert_in_range(step(bed, 1), 8 * 3600 * 90000u - 1, 8 * 3600 * 90000u + 1);
    assert_in_range(step(bed, 2), 3599, 3601);
    unit_unref(first);
    unit_unref(later);
    unit_unref(last);
}

RUN_TESTS(NULL, NULL)
