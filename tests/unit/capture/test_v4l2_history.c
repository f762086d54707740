// Sequence numbers and timestamps of V4L2 buffers, with values as drivers are known to send them.
#include "tests/unit/unit.h"

#include "capture/v4l2/v4l2_history.h"
#include "config/base.h"

static uint64_t add(struct v4l2_history *history, uint32_t sequence)
{
    struct v4l2_buffer buffer = {.sequence = sequence};

    return v4l2_history_add(history, &buffer);
}

TEST(test_gaps_are_what_lies_between_two_numbers)
{
    struct v4l2_history history = {0};

    assert_int_equal(add(&history, 5), 0); // streams need not begin at 0
    assert_int_equal(add(&history, 6), 0);
    assert_int_equal(add(&history, 10), 3);
    assert_int_equal(history.sequence, 10);
}

TEST(test_numbers_go_on_where_the_driver_wraps)
{
    struct v4l2_history history = {0};

    assert_int_equal(add(&history, UINT32_MAX - 1), 0);
    assert_int_equal(add(&history, UINT32_MAX), 0);
    assert_int_equal(add(&history, 2), 2);
    assert_int_equal(history.sequence, UINT64_C(0x100000002));
}

TEST(test_a_driver_that_does_not_count_has_no_gaps)
{
    struct v4l2_history history = {0};

    for (int i = 0; i < 4; i++)
        assert_int_equal(add(&history, 0), 0);
    assert_int_equal(add(&history, 1), 0);
    assert_int_equal(history.sequence, 4); // still one number a frame
    assert_int_equal(add(&history, 0), 0); // backwards is no gap either
}

static int64_t pts(struct v4l2_history *history, uint32_t clock, long s, long us, int64_t now_ns)
{
    struct v4l2_buffer buffer = {.flags = clock, .timestamp = {s, us}};

    return v4l2_history_pts(history, &buffer, now_ns);
}

TEST(test_only_sensible_timestamps_are_believed)
{
    const int64_t now_ns = 100 * NS_PER_S;
    const uint32_t monotonic = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
    static const struct {
        long s, us;
    } nonsense[] = {{0, 0},   {100, 1},      {89, 999999}, {-1, 0},
                    {99, -1}, {99, 1000000}, {1L << 62, 0}};
    struct v4l2_history history = {0};

    assert_int_equal(pts(&history, monotonic, 99, 500000, now_ns), INT64_C(99500000000));
    assert_int_equal(pts(&history, V4L2_BUF_FLAG_TIMESTAMP_UNKNOWN, 99, 600000, now_ns), now_ns);
    assert_int_equal(pts(&history, V4L2_BUF_FLAG_TIMESTAMP_COPY, 99, 600000, now_ns), now_ns);
    for (size_t i = 0; i < ARRAY_LENGTH(nonsense); i++) {
        history = (struct v4l2_history){0};
        assert_int_equal(pts(&history, monotonic, nonsense[i].s, nonsense[i].us, now_ns), now_ns);
    }
}

TEST(test_time_does_not_stand_still)
{
    const uint32_t monotonic = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
    struct v4l2_history history = {0};

    assert_int_equal(pts(&history, monotonic, 5, 0, 6 * NS_PER_S), 5 * NS_PER_S);
    assert_int_equal(pts(&history, monotonic, 5, 0, 6 * NS_PER_S), 6 * NS_PER_S);
}

RUN_TESTS(NULL, NULL)
