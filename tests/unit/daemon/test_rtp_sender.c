// A viewer over a transport of the test's own, which takes as many packets as it is told to, too
// few, or none.
#include "tests/unit/stopwatch.h"
#include "tests/unit/unit.h"

#include "daemon/front/stream/rtcp.h"
#include "daemon/front/stream/rtp_sender.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#define SENT_MAX 4096

// A packet that the transport has taken.
struct sent {
    struct rtp_header header;
    bool marker;
    uint8_t first, last; // bytes of the payload
    size_t size;
};

struct sender_bed {
    struct transport transport; // the first member: the viewer's is this one
    struct stream *stream;
    struct rtp_sender *sender;
    int room; // packets it takes; -errno: it has failed
    struct sent sent[SENT_MAX];
    unsigned count;
    uint8_t report[RTCP_REPORT_MAX];
    size_t report_size;
    unsigned reports, frees, breaks, key_frame_demands;
};

static int send_packets(struct transport *transport, const struct rtp_header *header,
                        const struct unit *unit, unsigned from)
{
    struct sender_bed *bed = (struct sender_bed *)transport;
    struct rtp_header next = *header;
    int taken = 0;

    if (bed->room < 0)
        return bed->room;
    assert_in_range(from, 0, unit->packet_count - 1);
    for (unsigned i = from; i < unit->packet_count && bed->room > 0; i++, bed->room--) {
        const struct unit_packet *packet = &unit->packets[i];
        const uint8_t *body = unit->bytes + packet->offset;
        const uint8_t *head = packet->head_size ? unit_packet_head(unit, packet) : body;

        assert_in_range(bed->count, 0, SENT_MAX - 1);
        bed->sent[bed->count++] = (struct sent){.header = next,
                                                .marker = i + 1 == unit->packet_count,
                                                .first = head[0],
                                                .last = body[packet->size - 1],
                                                .size = packet->size + packet->head_size};
        next.sequence++;
        taken++;
    }
    return taken;
}

static void send_rtcp(struct transport *transport, const uint8_t *bytes, size_t size)
{
    struct sender_bed *bed = (struct sender_bed *)transport;

    assert_in_range(size, 1, sizeof bed->report);
    memcpy(bed->report, bytes, size);
    bed->report_size = size;
    bed->reports++;
}

static void free_transport(struct transport *transport)
{
    ((struct sender_bed *)transport)->frees++;
}

static const struct transport_ops test_transport = {
    .send = send_packets, .send_rtcp = send_rtcp, .free = free_transport};

static void on_broken(void *context)
{
    ((struct sender_bed *)context)->breaks++;
}

static void on_demand(void *context, struct stream *stream, bool key_frame)
{
    (void)stream;
    ((struct sender_bed *)context)->key_frame_demands += key_frame;
}

static int set_up_viewer(void **state)
{
    struct sender_bed *bed = calloc(1, sizeof *bed);

    bed->transport.ops = &test_transport;
    bed->room = SENT_MAX;
    assert_int_equal(stream_new("/front/edges", &payload_h264, 4000, &bed->stream), 0);
    stream_set_demand(bed->stream, on_demand, bed);
    assert_int_equal(rtp_sender_new(bed->stream, &bed->transport, on_broken, bed, &bed->sender), 0);
    *state = bed;
    return 0;
}

static int set_up_playing_viewer(void **state)
{
    set_up_viewer(state);
    rtp_sender_play(((struct sender_bed *)*state)->sender);
    return 0;
}

static int tear_down_viewer(void **state)
{
    struct sender_bed *bed = *state;

    rtp_sender_free(bed->sender);
    assert_int_equal(bed->frees, 1);
    assert_false(stream_is_watched(bed->stream));
    stream_set_demand(bed->stream, NULL, NULL);
    while (g_main_context_iteration(NULL, FALSE)) {
    }
    stream_unref(bed->stream);
    free(bed);
    return 0;
}

// A frame whose one slice has `size` bytes, the last of them `mark`: 1400 bytes are one packet.
static uint8_t *make_frame(size_t before, bool key_frame, size_t size, uint8_t mark)
{
    uint8_t *payload = calloc(1, before + 4 + size);

    memset(payload + before + 4, 0xaa, size);
    payload[before + 3] = 1;
    payload[before + 4] = key_frame ? 0x65 : 0x41;
    payload[before + 4 + size - 1] = mark;
    return payload;
}

static void send_frame(struct sender_bed *bed, bool key_frame, int64_t captured_ns, size_t size,
                       uint8_t mark)
{
    struct link_access_unit life = {.captured_ns = captured_ns, .key_frame = key_frame};
    uint8_t *payload = make_frame(sizeof life, key_frame, size, mark);

    memcpy(payload, &life, sizeof life);
    assert_int_equal(stream_take_access_unit(bed->stream, payload, sizeof life + 4 + size), 0);
}

static void send_slate(struct sender_bed *bed, uint8_t mark)
{
    assert_int_equal(stream_take_slate(bed->stream, make_frame(0, true, 20, mark), 24), 0);
}

// The packets from number `from` on have sequence numbers that follow.
static void assert_sequence(const struct sender_bed *bed, unsigned from)
{
    for (unsigned i = from + 1; i < bed->count; i++) {
        assert_int_equal(bed->sent[i].header.sequence,
                         (uint16_t)(bed->sent[i - 1].header.sequence + 1));
        assert_int_equal(bed->sent[i].header.ssrc, bed->sent[0].header.ssrc);
    }
}

static uint32_t step(const struct sender_bed *bed, unsigned packet)
{
    return bed->sent[packet].header.timestamp - bed->sent[packet - 1].header.timestamp;
}

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
        if (sent == 0)
            first = bed->sent[0].header.sequence;
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
    for (int i = 0; i < 9; i++)
        bed->transport.writable(bed->transport.context);
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
    for (int i = 0; i < 50; i++) // 2 MB are kept
        send_frame(bed, i == 40, now_ns, 100000, 12 + (uint8_t)i);
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
    // One packet that is taken is progress.
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
