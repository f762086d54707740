// What a stream shows while its camera process brings nothing.
#include "tests/unit/daemon/stream_bed.h"

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

TEST(test_a_silent_camera_leaves_the_slate_to_a_new_viewer, set_up, tear_down)
{
    struct fixture *fixture = *state;

    send_slate(fixture, 'a');
    watch(&fixture->taker, fixture->stream);
    int64_t begin_ns = clock_now_ns();
    stream_resume(fixture->stream, &fixture->taker.reader, DEMAND_BEGIN);
    assert_int_equal(wait_frame(fixture).mark, 'a');
    assert_lasted(begin_ns, 300 * NS_PER_MS, 900 * NS_PER_MS);

    // What follows does not refer to the slate.
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
    if (bring_own_slate(fixture, &second, 12)) {
        assert_int_equal(next_frame(fixture).mark, -1);
    }
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
    for (int i = 0; i < 50; i++) { // of which 40 are kept
        send_frame(fixture, false, clock_now_ns(), 12);
    }
    assert_int_equal(next_frame(fixture).mark, -1);
    watch(&second, fixture->stream);
    stream_resume(fixture->stream, &second.reader, DEMAND_BEGIN);
    if (bring_own_slate(fixture, &second, -1)) {
        assert_int_equal(next_frame(fixture).mark, -1);
    }
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
