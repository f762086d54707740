// A stream with readers of the test's own, and a camera process played by the test: frames, demands
// and what is shown while there is no camera.
#include "tests/unit/stopwatch.h"
#include "tests/unit/unit.h"

#include "daemon/front/stream/stream.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#define FRAME_BYTES 1000

// One that takes what is there when it is asked to, or at once when it is woken.
struct taker {
    struct stream *stream;
    struct stream_reader reader;
    unsigned wakes;
    bool leaves; // as soon as it is woken
};

struct fixture {
    struct stream *stream;
    struct taker taker;
    unsigned demands, key_frame_demands;
};

static void on_demand(void *context, struct stream *stream, bool key_frame)
{
    struct fixture *fixture = context;

    assert_ptr_equal(stream, fixture->stream);
    fixture->demands++;
    fixture->key_frame_demands += key_frame;
}

static void on_wake(void *context)
{
    struct taker *taker = context;

    taker->wakes++;
    if (taker->leaves)
        stream_leave(taker->stream, &taker->reader);
}

static void watch(struct taker *taker, struct stream *stream)
{
    taker->stream = stream;
    stream_watch(stream, &taker->reader, on_wake, taker);
}

// Ends it, whether it has left by itself or not.
static void leave(struct taker *taker)
{
    if (taker->reader.ring)
        stream_leave(taker->stream, &taker->reader);
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);

    assert_int_equal(stream_new("/front/edges", &payload_h264, 80, &fixture->stream),
                     0); // 40 kB are kept
    stream_set_demand(fixture->stream, on_demand, fixture);
    *state = fixture;
    return 0;
}

static int set_up_playing(void **state)
{
    set_up(state);
    struct fixture *fixture = *state;
    watch(&fixture->taker, fixture->stream);
    stream_resume(fixture->stream, &fixture->taker.reader, DEMAND_BEGIN);
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    stream_set_demand(fixture->stream, NULL, NULL);
    leave(&fixture->taker);
    while (g_main_context_iteration(NULL, FALSE)) {
    }
    stream_unref(fixture->stream);
    free(fixture);
    return 0;
}

// A slice of an IDR picture (or of another), whose last byte is `mark`; 1 would be a start code's.
static void write_slice(uint8_t *bytes, size_t size, bool key_frame, uint8_t mark)
{
    const uint8_t start[] = {0, 0, 0, 1, key_frame ? 0x65 : 0x41};

    memset(bytes, 0xaa, size);
    memcpy(bytes, start, sizeof start);
    bytes[size - 1] = mark;
}

static void send_frame(struct fixture *fixture, bool key_frame, int64_t captured_ns, uint8_t mark)
{
    struct link_access_unit life = {.captured_ns = captured_ns,
                                    .grabbed_ns = captured_ns + 1 * NS_PER_MS,
                                    .computed_ns = captured_ns + 3 * NS_PER_MS,
                                    .encoded_ns = captured_ns + 6 * NS_PER_MS,
                                    .key_frame = key_frame};
    uint8_t *payload = malloc(sizeof life + FRAME_BYTES);

    memcpy(payload, &life, sizeof life);
    write_slice(payload + sizeof life, FRAME_BYTES, key_frame, mark);
    assert_int_equal(stream_take_access_unit(fixture->stream, payload, sizeof life + FRAME_BYTES),
                     0);
}

static void send_slate(struct fixture *fixture, uint8_t mark)
{
    uint8_t *payload = malloc(10);

    write_slice(payload, 10, true, mark);
    assert_int_equal(stream_take_slate(fixture->stream, payload, 10), 0);
}

struct seen {
    int mark; // -1: nothing is there
    int64_t captured_ns;
    bool key_frame, slate;
};

static struct seen next_frame(struct fixture *fixture)
{
    const struct unit *unit = reader_peek(&fixture->taker.reader);
    struct seen seen = {.mark = -1};

    if (unit) {
        seen = (struct seen){.mark = unit->bytes[unit->size - 1],
                             .captured_ns = unit->captured_ns,
                             .key_frame = unit->key_frame,
                             .slate = unit->slate};
        reader_next(&fixture->taker.reader);
    }
    return seen;
}

static gboolean on_tick(gpointer data)
{
    (void)data; // only so that an iteration of the main context ends
    return G_SOURCE_CONTINUE;
}

// Runs the main loop until a frame comes out.
static struct seen wait_frame(struct fixture *fixture)
{
    int64_t begin_ns = clock_now_ns();
    guint ticks = g_timeout_add(20, on_tick, NULL);
    struct seen seen;

    while ((seen = next_frame(fixture)).mark < 0) {
        assert_true(clock_now_ns() - begin_ns < PATIENCE_NS);
        g_main_context_iteration(NULL, TRUE);
    }
    g_source_remove(ticks);
    return seen;
}

static void iterate_until(struct fixture *fixture, unsigned demands)
{
    while (fixture->demands < demands)
        g_main_context_iteration(NULL, TRUE);
}

TEST(test_a_reader_begins_with_a_key_frame, set_up_playing, tear_down)
{
    struct fixture *fixture = *state;
    int64_t now_ns = clock_now_ns();

    assert_int_equal(next_frame(fixture).mark, -1);
    send_frame(fixture, false, now_ns, 11);
    assert_int_equal(next_frame(fixture).mark, -1);
    send_frame(fixture, true, now_ns, 12);
    send_frame(fixture, false, now_ns, 13);
    assert_int_equal(fixture->taker.wakes, 2); // it has not looked since the second

    struct seen first = next_frame(fixture), second = next_frame(fixture);
    assert_int_equal(first.mark, 12);
    assert_true(first.key_frame);
    assert_false(first.slate);
    assert_int_equal(second.mark, 13);
    assert_false(second.key_frame);
    assert_int_equal(next_frame(fixture).mark, -1);
}

// A new reader does not get what the others have seen.
TEST(test_a_second_reader_waits_for_a_key_frame_of_its_own, set_up_playing, tear_down)
{
    struct fixture *fixture = *state;
    struct taker second = {0};

    send_frame(fixture, true, clock_now_ns(), 11);
    assert_int_equal(next_frame(fixture).mark, 11);
    watch(&second, fixture->stream);
    stream_resume(fixture->stream, &second.reader, DEMAND_BEGIN);
    assert_null(reader_peek(&second.reader));
    send_frame(fixture, false, clock_now_ns(), 12);
    assert_null(reader_peek(&second.reader));
    send_frame(fixture, true, clock_now_ns(), 13);
    const struct unit *unit = reader_peek(&second.reader);
    assert_non_null(unit);
    assert_int_equal(unit->bytes[unit->size - 1], 13);
    leave(&second);
    assert_int_equal(next_frame(fixture).mark, 12);
    assert_int_equal(next_frame(fixture).mark, 13);
}

TEST(test_who_reads_is_reported_as_demand, set_up, tear_down)
{
    struct fixture *fixture = *state;

    assert_false(stream_is_watched(fixture->stream));
    watch(&fixture->taker, fixture->stream);
    assert_int_equal(fixture->demands, 0); // not from within
    assert_true(stream_is_watched(fixture->stream));
    iterate_until(fixture, 1);
    assert_int_equal(fixture->key_frame_demands, 0);
    stream_resume(fixture->stream, &fixture->taker.reader, DEMAND_BEGIN);
    iterate_until(fixture, 2);
    assert_int_equal(fixture->key_frame_demands, 1);
    leave(&fixture->taker);
    iterate_until(fixture, 3);
    assert_false(stream_is_watched(fixture->stream));
    assert_int_equal(fixture->key_frame_demands, 1);
}

TEST(test_at_most_one_key_frame_in_250_ms_is_asked_for, set_up_playing, tear_down)
{
    struct fixture *fixture = *state;

    int64_t now_ns = 0, before_ns; // not later than the demand

    iterate_until(fixture, 1);
    for (unsigned asked = 2; asked <= 4; asked++) {
        int64_t begin_ns = clock_now_ns();

        before_ns = now_ns;
        assert_int_equal(fixture->key_frame_demands, asked - 1);
        while (fixture->key_frame_demands < asked) {
            now_ns = clock_now_ns();
            assert_true(now_ns - begin_ns < PATIENCE_NS);
            stream_want_key_frame(fixture->stream, DEMAND_BEGIN);
            g_main_context_iteration(NULL, FALSE);
        }
        assert_true(before_ns == 0 || clock_now_ns() - before_ns >= 200 * NS_PER_MS);
    }
}

TEST(test_viewers_that_lost_pictures_are_given_a_key_frame_a_second, set_up_playing, tear_down)
{
    struct fixture *fixture = *state;
    int64_t begin_ns = clock_now_ns();
    unsigned asked;

    send_frame(fixture, true, begin_ns, 10);
    while (g_main_context_iteration(NULL, FALSE)) {
    }
    asked = fixture->key_frame_demands;
    while (fixture->key_frame_demands == asked) {
        assert_true(clock_now_ns() - begin_ns < PATIENCE_NS);
        stream_want_key_frame(fixture->stream, DEMAND_REPAIR);
        g_main_context_iteration(NULL, FALSE);
    }
    assert_true(clock_now_ns() - begin_ns >= NS_PER_S);
    // One for a new viewer does not wait for that: of the loop's many turns in that second few come
    // when half of it is over, even where the machine stood still.
    unsigned late_turns = 0;
    stream_want_key_frame(fixture->stream, DEMAND_REPAIR);
    begin_ns = clock_now_ns();
    while (fixture->key_frame_demands == asked + 1) {
        late_turns += clock_now_ns() - begin_ns > NS_PER_S / 2;
        assert_true(late_turns < 100);
        stream_want_key_frame(fixture->stream, DEMAND_BEGIN);
        g_main_context_iteration(NULL, FALSE);
    }
}

static void want_too_early(struct fixture *fixture)
{
    unsigned asked;

    do {
        asked = fixture->key_frame_demands;
        stream_want_key_frame(fixture->stream, DEMAND_BEGIN);
        while (g_main_context_iteration(NULL, FALSE)) {
        }
    } while (fixture->key_frame_demands != asked);
}

// Reads non-key frames for a while; whether a key frame was asked for meanwhile.
static bool asks_within(struct fixture *fixture, int64_t ns)
{
    unsigned asked = fixture->key_frame_demands;
    int64_t end_ns = clock_now_ns() + ns;

    while (fixture->key_frame_demands == asked && clock_now_ns() < end_ns) {
        send_frame(fixture, false, clock_now_ns(), 11);
        while (next_frame(fixture).mark >= 0) {
        }
        while (g_main_context_iteration(NULL, FALSE)) {
        }
    }
    return fixture->key_frame_demands != asked;
}

TEST(test_a_key_frame_wanted_too_early_is_asked_for_later_unless_one_comes, set_up_playing,
     tear_down)
{
    struct fixture *fixture = *state;

    send_frame(fixture, true, clock_now_ns(), 10);
    want_too_early(fixture);
    assert_true(asks_within(fixture, PATIENCE_NS));
    want_too_early(fixture);
    send_frame(fixture, true, clock_now_ns(), 12);
    assert_false(asks_within(fixture, 400 * NS_PER_MS));
}

// Of whatever kind: a client that pauses and plays on all the time, for one.
TEST(test_readers_that_resume_are_given_no_more_key_frames_than_others, set_up_playing, tear_down)
{
    struct fixture *fixture = *state;
    int64_t begin_ns = clock_now_ns();

    for (unsigned i = 0; i < 1000; i++) {
        reader_hold(&fixture->taker.reader);
        stream_resume(fixture->stream, &fixture->taker.reader, DEMAND_BEGIN);
        while (g_main_context_iteration(NULL, FALSE)) {
        }
    }
    assert_in_range(fixture->key_frame_demands, 1,
                    2 + (clock_now_ns() - begin_ns) / (250 * NS_PER_MS));
}

TEST(test_nobody_asks_for_key_frames_of_what_nobody_reads, set_up, tear_down)
{
    struct fixture *fixture = *state;

    stream_want_key_frame(fixture->stream, DEMAND_BEGIN);
    while (g_main_context_iteration(NULL, FALSE)) {
    }
    assert_int_equal(fixture->demands, 0);
}

// A viewer would wait an hour for what follows a frame that is an hour ahead.
TEST(test_times_that_cannot_be_true_are_mended_and_counted, set_up_playing, tear_down)
{
    static const int64_t lies_ns[] = {INT64_MAX - NS_PER_S, INT64_MIN, -1};
    struct fixture *fixture = *state;
    struct stream_statistics counted = {0};
    int64_t begin_ns = clock_now_ns();

    for (size_t i = 0; i < ARRAY_LENGTH(lies_ns); i++) {
        send_frame(fixture, true, lies_ns[i], 11);
        assert_in_range(next_frame(fixture).captured_ns, begin_ns - 10 * NS_PER_S, clock_now_ns());
    }
    int64_t now_ns = clock_now_ns();
    send_frame(fixture, false, now_ns, 12);
    assert_int_equal(next_frame(fixture).captured_ns, now_ns);
    stream_count(fixture->stream, &counted);
    assert_int_equal(counted.bad_timestamps, ARRAY_LENGTH(lies_ns));
    assert_float_equal(counted.latency[LATENCY_LINK].sum_s, 20,
                       1e-6); // of the two in the past
}

TEST(test_a_reader_that_stalls_loses_frames_up_to_a_key_frame, set_up_playing, tear_down)
{
    struct fixture *fixture = *state;
    struct stream_statistics counted = {0};
    int64_t now_ns = clock_now_ns();

    send_frame(fixture, true, now_ns, 11);
    assert_int_equal(next_frame(fixture).mark, 11);
    for (uint8_t mark = 12; mark < 200; mark++) // 40 kB are kept
        send_frame(fixture, false, now_ns, mark);
    unsigned asked = fixture->key_frame_demands;
    assert_int_equal(next_frame(fixture).mark, -1);
    stream_count(fixture->stream, &counted);
    assert_int_equal(counted.dropped, 188);
    send_frame(fixture, false, now_ns, 200);
    assert_int_equal(next_frame(fixture).mark, -1);
    // At the latest the next frame asks for one.
    while (fixture->key_frame_demands == asked) {
        assert_true(clock_now_ns() - now_ns < PATIENCE_NS);
        send_frame(fixture, false, now_ns, 201);
        g_main_context_iteration(NULL, FALSE);
    }
    assert_int_equal(next_frame(fixture).mark, -1);
    send_frame(fixture, true, now_ns, 202);
    assert_int_equal(next_frame(fixture).mark, 202);
}

// How many frames of one second are kept for a reader that does not read.
static unsigned count_kept(struct fixture *fixture)
{
    int64_t now_ns = clock_now_ns();
    unsigned kept = 0;

    for (int i = 0; i < 300; i++) // each a key frame: what is kept can be read
        send_frame(fixture, true, now_ns, 11);
    const struct ring *ring = fixture->taker.reader.ring;
    kept = (unsigned)(ring->next - ring->first);
    while (next_frame(fixture).mark >= 0) {
    }
    return kept;
}

TEST(test_another_bitrate_moves_the_bound_of_readers_that_are_there, set_up_playing, tear_down)
{
    struct fixture *fixture = *state;

    unsigned kept = count_kept(fixture);
    assert_in_range(kept, 10, 40);
    stream_set_bitrate(fixture->stream, 320); // 160 kB may wait
    unsigned kept_later = count_kept(fixture);
    assert_in_range(kept_later, 4 * kept - 4, 160);
    stream_set_bitrate(fixture->stream, 80);
    assert_int_equal(count_kept(fixture), kept);
}

TEST(test_nothing_piles_up_while_nobody_plays, set_up, tear_down)
{
    struct fixture *fixture = *state;
    const struct ring *ring;
    int64_t now_ns = clock_now_ns();

    stream_set_bitrate(fixture->stream, 100000); // 50 MB may wait
    watch(&fixture->taker, fixture->stream);
    ring = fixture->taker.reader.ring;
    // The frames of 9 s, 10 a second.
    for (int i = 0; i <= 90; i++)
        send_frame(fixture, i == 0, now_ns - (90 - i) * 100 * NS_PER_MS, 11);
    assert_in_range(ring->next - ring->first, 1, 21);
    assert_int_equal(fixture->taker.wakes, 0);
    assert_int_equal(next_frame(fixture).mark, -1);
    stream_resume(fixture->stream, &fixture->taker.reader, DEMAND_BEGIN);
    assert_int_equal(next_frame(fixture).mark, -1); // nothing of the past
    send_frame(fixture, true, clock_now_ns(), 12);
    assert_int_equal(next_frame(fixture).mark, 12);
}

TEST(test_what_is_no_video_is_refused, set_up_playing, tear_down)
{
    struct fixture *fixture = *state;
    static const char text[] = "this is no H.264 ...";
    size_t header = sizeof(struct link_access_unit);
    uint8_t *unit = calloc(1, header + sizeof text);

    memcpy(unit + header, text, sizeof text);
    assert_int_equal(stream_take_access_unit(fixture->stream, unit, header + sizeof text),
                     -EBADMSG);
    assert_int_equal(stream_take_access_unit(fixture->stream, calloc(1, 10), 10), -EBADMSG);
    assert_int_equal(stream_take_access_unit(fixture->stream, calloc(1, header), header), -EBADMSG);
    assert_int_equal(stream_take_slate(fixture->stream, calloc(1, 3), 3), -EBADMSG);
    assert_false(stream_is_described(fixture->stream));
    assert_false(stream_has_slates(fixture->stream));
    assert_int_equal(next_frame(fixture).mark, -1);
}

// Of a slate too: DESCRIBE can be answered before there is a camera.
TEST(test_a_key_frame_describes_the_stream, set_up, tear_down)
{
    static const uint8_t first[] = {0, 0,    1,    0x67, 0x42, 0xc0, 0x1f, 0x99, 0,    0,
                                    1, 0x68, 0xce, 0x3c, 0x80, 0,    0,    1,    0x65, 0x88};
    static const uint8_t second[] = {0, 0, 1,    0x67, 0x64, 0, 0x28, 0x77, 0,
                                     0, 1, 0x68, 0xee, 0,    0, 1,    0x65, 0x88};
    struct fixture *fixture = *state;
    const struct parameter_sets *sets = stream_parameter_sets(fixture->stream);
    struct link_access_unit life = {.captured_ns = clock_now_ns(), .key_frame = true};
    uint8_t *slate = malloc(sizeof first), *frame = malloc(sizeof life + sizeof second);

    assert_false(stream_is_described(fixture->stream));
    assert_int_equal(stream_description_version(fixture->stream), 0);
    memcpy(slate, first, sizeof first);
    assert_int_equal(stream_take_slate(fixture->stream, slate, sizeof first), 0);
    assert_true(stream_is_described(fixture->stream));
    assert_int_equal(stream_description_version(fixture->stream), 1);
    assert_int_equal(sets->sizes[0], 5);
    assert_memory_equal(sets->sets[0], first + 3, 5);
    memcpy(frame, &life, sizeof life);
    memcpy(frame + sizeof life, second, sizeof second);
    assert_int_equal(stream_take_access_unit(fixture->stream, frame, sizeof life + sizeof second),
                     0);
    assert_int_equal(sets->sizes[0], 5);
    assert_memory_equal(sets->sets[0], second + 3, 5);
    assert_int_equal(sets->sizes[1], 2);
    send_frame(fixture, true, clock_now_ns(), 11); // one without any changes nothing
    assert_true(stream_is_described(fixture->stream));
    assert_int_equal(stream_description_version(fixture->stream), 2);
    assert_memory_equal(sets->sets[0], second + 3, 5);
}

TEST(test_what_was_sent_is_counted, set_up_playing, tear_down)
{
    struct fixture *fixture = *state;
    struct stream_statistics counted = {0};

    for (uint8_t i = 0; i < 10; i++)
        send_frame(fixture, i % 5 == 0, clock_now_ns() - 20 * NS_PER_MS, 11);
    stream_note_sent(fixture->stream, reader_peek(&fixture->taker.reader));
    stream_note_sent(fixture->stream, &(struct unit){.slate = true, .captured_ns = 0});
    stream_set_view_counters(fixture->stream, 12, 2, "x264enc", "rate 1/2");
    stream_count(fixture->stream, &counted);
    assert_string_equal(stream_path(fixture->stream), "/front/edges");
    assert_string_equal(counted.encoder, "x264enc");
    assert_int_equal(counted.access_units, 10);
    assert_int_equal(counted.key_frames, 2);
    assert_int_equal(counted.bytes, 10000);
    assert_int_equal(counted.encoded, 12);
    assert_int_equal(counted.dropped, 2);
    // 1 ms, 2 ms, 3 ms, and the 14 ms that are left of 20.
    assert_int_equal(counted.latency[LATENCY_CAPTURE].count, 10);
    assert_float_equal(counted.latency[LATENCY_CAPTURE].sum_s, 0.010, 1e-9);
    assert_float_equal(counted.latency[LATENCY_COMPUTE].sum_s, 0.020, 1e-9);
    assert_float_equal(counted.latency[LATENCY_ENCODE].sum_s, 0.030, 1e-9);
    assert_in_range(counted.latency[LATENCY_LINK].sum_s * 1000, 139,
                    at_most_ns(190 * NS_PER_MS) / NS_PER_MS);
    assert_int_equal(counted.latency[LATENCY_CAPTURE_TO_RTP].count, 1);
    assert_in_range(counted.latency[LATENCY_CAPTURE_TO_RTP].sum_s * 1000, 20,
                    at_most_ns(500 * NS_PER_MS) / NS_PER_MS);
}

TEST(test_the_slates_take_turns_while_the_camera_process_is_gone, set_up_playing, tear_down)
{
    struct fixture *fixture = *state;

    send_slate(fixture, 'a');
    assert_false(stream_has_slates(fixture->stream));
    send_slate(fixture, 'b');
    assert_true(stream_has_slates(fixture->stream));
    send_frame(fixture, true, clock_now_ns(), 11);
    assert_int_equal(next_frame(fixture).mark, 11);

    int64_t begin_ns = clock_now_ns();
    stream_interrupt(fixture->stream);
    struct seen slate = next_frame(fixture); // at once
    assert_int_equal(slate.mark, 'a');
    assert_true(slate.slate && slate.key_frame);
    assert_in_range(slate.captured_ns, begin_ns, clock_now_ns());
    assert_int_equal(wait_frame(fixture).mark, 'b');
    assert_lasted(begin_ns, 400 * NS_PER_MS, 1500 * NS_PER_MS);
    assert_int_equal(wait_frame(fixture).mark, 'a');

    // A new process is let in with its first key frame, and ends the slate.
    send_frame(fixture, false, clock_now_ns(), 12);
    assert_int_equal(next_frame(fixture).mark, -1);
    send_frame(fixture, true, clock_now_ns(), 13);
    send_frame(fixture, false, clock_now_ns(), 14);
    assert_int_equal(next_frame(fixture).mark, 13);
    assert_int_equal(next_frame(fixture).mark, 14);
}

TEST(test_a_camera_process_that_hangs_leaves_the_slate_to_its_viewers, set_up_playing, tear_down)
{
    struct fixture *fixture = *state;

    send_slate(fixture, 'a');
    int64_t begin_ns = clock_now_ns();
    send_frame(fixture, true, begin_ns, 11);
    assert_int_equal(next_frame(fixture).mark, 11);
    assert_int_equal(wait_frame(fixture).mark, 'a');
    assert_lasted(begin_ns, 600 * NS_PER_MS, 1500 * NS_PER_MS);
    send_frame(fixture, false, clock_now_ns(), 12);
    assert_int_not_equal(next_frame(fixture).mark, 12);
}

static gboolean bring_frame(gpointer data)
{
    send_frame(data, false, clock_now_ns(), 2);
    return G_SOURCE_REMOVE;
}

// The loop stood still, as when the machine is busy; the link is read behind the timer.
TEST(test_a_picture_that_waits_in_the_link_is_shown_in_place_of_a_slate, set_up_playing, tear_down)
{
    struct fixture *fixture = *state;

    send_slate(fixture, 9);
    send_frame(fixture, true, clock_now_ns(), 1);
    assert_int_equal(next_frame(fixture).mark, 1);
    g_usleep(1500 * 1000);
    g_idle_add_full(G_PRIORITY_DEFAULT, bring_frame, fixture, NULL);
    assert_int_equal(wait_frame(fixture).mark, 2);
}

TEST(test_a_silent_camera_leaves_the_slate_to_a_new_viewer, set_up, tear_down)
{
    struct fixture *fixture = *state;

    send_slate(fixture, 'a');
    watch(&fixture->taker, fixture->stream);
    int64_t begin_ns = clock_now_ns();
    stream_resume(fixture->stream, &fixture->taker.reader, DEMAND_BEGIN);
    assert_int_equal(wait_frame(fixture).mark, 'a');
    assert_lasted(begin_ns, 300 * NS_PER_MS, 900 * NS_PER_MS);

    // The next frames do not refer to the slate.
    send_frame(fixture, false, clock_now_ns(), 11);
    assert_int_not_equal(next_frame(fixture).mark, 11);
    send_frame(fixture, true, clock_now_ns(), 12);
    while (next_frame(fixture).mark == 'a') {
    }
    send_frame(fixture, false, clock_now_ns(), 13);
    assert_int_equal(next_frame(fixture).mark, 13);
}

// Brings pictures, none of which is a key frame, until the second reader, which begins, has got
// something; of each the first reader gets one with `mark` (-1: nothing). Whether that was its own
// slate: where the machine stood still, the slates are for all.
static bool bring_own_slate(struct fixture *fixture, struct taker *second, int mark)
{
    int64_t begin_ns = clock_now_ns();
    guint ticks = g_timeout_add(20, on_tick, NULL);
    const struct unit *unit;
    bool still = false;

    while (!(unit = reader_peek(&second->reader)) && !still) {
        int64_t sent_ns = clock_now_ns();

        assert_true(sent_ns - begin_ns < PATIENCE_NS);
        send_frame(fixture, false, sent_ns, 12);
        assert_int_equal(next_frame(fixture).mark, mark);
        g_main_context_iteration(NULL, TRUE);
        still = !by_the_clock() && clock_now_ns() - sent_ns > 300 * NS_PER_MS;
    }
    g_source_remove(ticks);
    assert_true(still || unit->slate);
    return !still;
}

// The slate of one that begins is not for those who see the camera.
TEST(test_a_slate_for_a_new_viewer_leaves_the_others_alone, set_up_playing, tear_down)
{
    struct fixture *fixture = *state;
    struct taker second = {0};

    send_slate(fixture, 'a');
    send_frame(fixture, true, clock_now_ns(), 11);
    assert_int_equal(next_frame(fixture).mark, 11);
    watch(&second, fixture->stream);
    stream_resume(fixture->stream, &second.reader, DEMAND_BEGIN);
    if (bring_own_slate(fixture, &second, 12))
        assert_int_equal(next_frame(fixture).mark, -1);
    leave(&second);
}

// Nor is it for those who have fallen behind: the key frame that they wait for is on its way.
TEST(test_a_slate_for_a_new_viewer_is_not_for_one_that_fell_behind, set_up_playing, tear_down)
{
    struct fixture *fixture = *state;
    struct taker second = {0};

    send_slate(fixture, 'a');
    send_frame(fixture, true, clock_now_ns(), 11);
    assert_int_equal(next_frame(fixture).mark, 11);
    for (int i = 0; i < 50; i++) // of which 40 are kept
        send_frame(fixture, false, clock_now_ns(), 12);
    assert_int_equal(next_frame(fixture).mark, -1);
    watch(&second, fixture->stream);
    stream_resume(fixture->stream, &second.reader, DEMAND_BEGIN);
    if (bring_own_slate(fixture, &second, -1))
        assert_int_equal(next_frame(fixture).mark, -1);
    leave(&second);
}

// It may be the last that holds the stream.
TEST(test_a_reader_may_leave_when_it_is_woken)
{
    struct fixture fixture = {0};
    int64_t begin_ns = clock_now_ns();

    assert_int_equal(stream_new("/front/edges", &payload_h264, 80, &fixture.stream), 0);
    send_slate(&fixture, 'a');
    fixture.taker.leaves = true;
    watch(&fixture.taker, fixture.stream);
    stream_resume(fixture.stream, &fixture.taker.reader, DEMAND_BEGIN);
    assert_null(reader_peek(&fixture.taker.reader));
    stream_unref(fixture.stream);
    while (fixture.taker.wakes == 0) {
        assert_true(clock_now_ns() - begin_ns < PATIENCE_NS);
        g_main_context_iteration(NULL, TRUE);
    }
    assert_null(fixture.taker.reader.ring);
}

RUN_TESTS(NULL, NULL)
