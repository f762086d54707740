#include "tests/unit/capture/source_harness.h"

static const struct source_ops *const ops = &source_pattern_ops;

TEST(test_frames_are_due_at_exact_multiples_of_the_period)
{
    struct harness harness;
    int64_t start_ns = 0;

    harness_init(&harness);
    harness.camera.fps = 60;
    harness_start(&harness, ops);
    for (int i = 0; i < 12; i++) {
        struct frame *frame = harness_next(&harness);
        int64_t n = (int64_t)frame->sequence;

        start_ns = i == 0 ? frame->pts_ns - n * 1000000000 / 60 : start_ns;
        assert_true(frame->pts_ns - start_ns == n * 1000000000 / 60);
        assert_true(frame->grabbed_ns >= frame->pts_ns);
        frame_unref(frame);
    }
    source_close(harness.source);
}

TEST(test_missed_deadlines_skip_numbers_and_are_counted)
{
    struct harness harness;
    struct frame *first, *second;
    uint64_t dropped;
    int64_t later_ns;

    harness_init(&harness);
    harness.camera.fps = 100;
    harness_start(&harness, ops);
    first = harness_next(&harness);
    dropped = harness.source->counters.dropped; // a slow start has some
    later_ns = clock_now_ns() + 100 * NS_PER_MS;
    while (clock_now_ns() < later_ns) {
        // The lane is busy for ten periods.
    }
    second = harness_next(&harness);
    // Ten periods late, of which a backlog of four frames is still there.
    assert_true(second->sequence >= first->sequence + 6);
    assert_int_equal(harness.source->counters.dropped - dropped,
                     second->sequence - first->sequence - 1);
    assert_true(second->pts_ns > later_ns - 50 * NS_PER_MS);
    assert_int_equal(harness.source->counters.frames, 2);
    frame_unref(first);
    frame_unref(second);
    source_close(harness.source);
}

// The number of the next frame.
static uint64_t next_number(struct harness *harness)
{
    struct frame *frame = harness_next(harness);
    uint64_t number = frame->sequence;

    frame_unref(frame);
    return number;
}

TEST(test_a_short_hiccup_loses_nothing)
{
    struct harness harness;
    uint64_t first, last, dropped;
    int64_t begin_ns, took_ns;

    do {
        harness_init(&harness);
        harness.camera.fps = 2;
        begin_ns = clock_now_ns();
        harness_start(&harness, ops);
        first = next_number(&harness);
        while (clock_now_ns() - begin_ns < 1600 * NS_PER_MS) {
            // The lane is busy for more than two periods.
        }
        for (int i = 0; i < 4; i++)
            last = next_number(&harness);
        took_ns = clock_now_ns() - begin_ns;
        dropped = harness.source->counters.dropped;
        source_close(harness.source);
    } while (took_ns > 2400 * NS_PER_MS); // no short one
    assert_int_equal(last, first + 4);
    assert_int_equal(dropped, 0);
}

TEST(test_frames_without_a_free_buffer_are_dropped_and_counted)
{
    struct harness harness;
    struct frame *frames[64], *frame;
    int count = 0, r;

    harness_init(&harness);
    harness.camera.fps = 200;
    harness_start(&harness, ops);
    while ((r = source_next(harness.source, 100, &harness.error, &frames[count])) == 0)
        count++;
    assert_int_equal(r, -EAGAIN);
    assert_true(count >= 2);
    assert_true(harness.source->counters.dropped >= 10);
    for (int i = 0; i < count; i++)
        frame_unref(frames[i]);
    frame = harness_next(&harness);
    assert_true(frame->sequence >= harness.source->counters.dropped + (uint64_t)count);
    frame_unref(frame);
    source_close(harness.source);
}

TEST(test_a_timeout_before_the_next_deadline_says_again)
{
    struct harness harness;
    struct frame *frame;

    harness_init(&harness);
    harness.camera.fps = 1;
    harness_start(&harness, ops);
    int r = source_next(harness.source, 0, &harness.error, &frame);
    while (r == 0) { // so slow a machine that the next one is due
        frame_unref(frame);
        r = source_next(harness.source, 10, &harness.error, &frame);
    }
    assert_int_equal(r, -EAGAIN);
    source_close(harness.source);
}

TEST(test_the_mode_is_what_the_configuration_wishes)
{
    struct harness harness;

    harness_init(&harness);
    assert_int_equal(harness_open(&harness, ops), 0);
    assert_string_equal(harness.source->mode.description, "pattern NV12 320x240@30");
    assert_int_equal(harness.source->mode.layout.range, FRAME_RANGE_LIMITED);
    source_close(harness.source);
    harness.camera.format = (char *)"YUYV";
    assert_int_equal(harness_open(&harness, ops), 0);
    assert_string_equal(harness.source->mode.description, "pattern YUYV 320x240@30");
    source_close(harness.source);
}

TEST(test_formats_it_cannot_draw_are_refused_by_name)
{
    struct harness harness;

    harness_init(&harness);
    harness.camera.format = (char *)"RGB3";
    assert_int_equal(harness_open(&harness, ops), -ENOTSUP);
    assert_contains(harness.error.text, "RGB3");
    harness.camera.format = (char *)"MJPG";
    assert_int_equal(harness_open(&harness, ops), -ENOTSUP);
    assert_contains(harness.error.text, "MJPG");
    harness.camera.format = (char *)"pRAA"; // raw samples
    assert_int_equal(harness_open(&harness, ops), -ENOTSUP);
    assert_contains(harness.error.text, "pRAA");
}

RUN_TESTS(NULL, NULL)
