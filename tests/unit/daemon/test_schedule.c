// When the camera is tried again, and when the slate is shown, in hand-worked times.

#include "daemon/camera/schedule.h"
#include "tests/unit/unit.h"

#define MS(x) ((x)*NS_PER_MS)

TEST(test_tries_come_at_growing_distances_up_to_2_s)
{
    static const int64_t expected_ms[] = {100, 200, 400, 800, 1600, 2000, 2000};
    struct schedule schedule;

    schedule_init(&schedule, MS(1000));
    assert_int_equal(schedule.retry_ns, 0); // at once
    for (size_t i = 0; i < ARRAY_LENGTH(expected_ms); i++) {
        assert_int_equal(schedule_lose(&schedule, MS(5000)), MS(expected_ms[i]));
        assert_int_equal(schedule.retry_ns, MS(5000 + expected_ms[i]));
    }
    schedule_live(&schedule);
    assert_int_equal(schedule_lose(&schedule, MS(5000)), MS(100));
}

TEST(test_a_camera_that_may_have_come_is_tried_at_once_and_as_at_first)
{
    struct schedule schedule;

    schedule_init(&schedule, MS(1000));
    for (int i = 0; i < 8; i++)
        schedule_lose(&schedule, MS(5000));
    schedule_hope(&schedule, MS(5100));
    assert_int_equal(schedule.retry_ns, MS(5100));
    assert_int_equal(schedule_lose(&schedule, MS(5150)), MS(100));
    schedule_hope(&schedule, MS(5200)); // of the same camera, as its permissions change
    assert_int_equal(schedule.retry_ns, MS(5250));
    assert_int_equal(schedule_lose(&schedule, MS(5250)), MS(200));
    schedule_hope(&schedule, MS(6100));
    assert_int_equal(schedule.retry_ns, MS(6100));
}

TEST(test_a_camera_is_silent_after_2_s_without_a_frame)
{
    struct schedule schedule;

    schedule_init(&schedule, MS(1000));
    schedule_frame(&schedule, MS(4000));
    assert_false(schedule_is_silent(&schedule, MS(5999)));
    assert_true(schedule_is_silent(&schedule, MS(6000)));
}

TEST(test_a_camera_with_a_picture_every_4_s_is_not_silent_in_between)
{
    struct schedule schedule;
    int64_t seconds;

    schedule_init(&schedule, MS(1000));
    schedule_rate(&schedule, 30, 1); // as configured, where the camera tells none
    schedule_period(&schedule, MS(4000));
    schedule_frame(&schedule, MS(2000));
    assert_false(schedule_is_silent(&schedule, MS(13999)));
    assert_false(schedule_slate(&schedule, MS(13999), &seconds));
    assert_true(schedule_is_silent(&schedule, MS(14000)));
}

TEST(test_slates_begin_after_500_ms_and_come_every_200)
{
    struct schedule schedule;
    int64_t seconds = -1;

    schedule_init(&schedule, MS(1000));
    schedule_frame(&schedule, MS(2000));
    assert_int_equal(schedule_next_slate_ns(&schedule), MS(2500));
    assert_false(schedule_slate(&schedule, MS(2499), &seconds));
    assert_true(schedule_slate(&schedule, MS(2500), &seconds));
    assert_int_equal(seconds, 0);
    assert_int_equal(schedule_next_slate_ns(&schedule), MS(2700));
    assert_false(schedule_slate(&schedule, MS(2699), &seconds));
    assert_true(schedule_slate(&schedule, MS(2700), &seconds));
}

TEST(test_a_slate_counts_from_the_first_loss)
{
    struct schedule schedule;
    int64_t seconds = -1;

    schedule_init(&schedule, MS(1000));
    schedule_frame(&schedule, MS(2000));
    schedule_lose(&schedule, MS(3000));
    schedule_lose(&schedule, MS(3200));
    assert_true(schedule_slate(&schedule, MS(5999), &seconds));
    assert_int_equal(seconds, 2);
    assert_true(schedule_slate(&schedule, MS(6200), &seconds));
    assert_int_equal(seconds, 3);
}

TEST(test_a_slow_camera_has_three_periods)
{
    struct schedule schedule;
    int64_t seconds = -1;

    schedule_init(&schedule, MS(1000));
    schedule_rate(&schedule, 1, 2);
    schedule_frame(&schedule, MS(2000));
    assert_int_equal(schedule_next_slate_ns(&schedule), MS(8000));
    assert_false(schedule_slate(&schedule, MS(7999), &seconds));
    assert_false(schedule_is_silent(&schedule, MS(7999)));
    assert_true(schedule_slate(&schedule, MS(8000), &seconds));
    assert_true(schedule_is_silent(&schedule, MS(8000)));

    schedule_rate(&schedule, 1, 1000); // not an hour
    assert_false(schedule_is_silent(&schedule, MS(61999)));
    assert_true(schedule_is_silent(&schedule, MS(62000)));
}

TEST(test_a_rate_shortens_nothing_and_is_lost_with_the_source)
{
    struct schedule schedule;

    schedule_init(&schedule, MS(1000));
    schedule_rate(&schedule, 30, 1);
    schedule_frame(&schedule, MS(2000));
    assert_int_equal(schedule_next_slate_ns(&schedule), MS(2500));
    assert_false(schedule_is_silent(&schedule, MS(3999)));
    assert_true(schedule_is_silent(&schedule, MS(4000)));

    schedule_rate(&schedule, 1, 1);
    assert_int_equal(schedule_next_slate_ns(&schedule), MS(5000));
    schedule_lose(&schedule, MS(2100)); // unplugged: the slate does not wait
    assert_int_equal(schedule_next_slate_ns(&schedule), MS(2500));
}

TEST(test_a_refused_login_is_tried_after_1_2_5_and_10_minutes)
{
    static const int minutes[] = {1, 2, 5, 10, 10, 10};
    struct schedule schedule;
    int64_t now_ns = MS(1000);

    schedule_init(&schedule, now_ns);
    for (size_t i = 0; i < ARRAY_LENGTH(minutes); i++) {
        assert_int_equal(schedule_refuse(&schedule, now_ns), MS(minutes[i] * 60000));
        assert_int_equal(schedule.retry_ns, now_ns + MS(minutes[i] * 60000));
        now_ns = schedule.retry_ns;
    }
    schedule_ask_anew(&schedule, now_ns);
    assert_int_equal(schedule.retry_ns, now_ns);
    assert_int_equal(schedule_refuse(&schedule, now_ns), MS(60000));
    schedule_live(&schedule);
    assert_int_equal(schedule_lose(&schedule, now_ns), MS(100));
}

RUN_TESTS(NULL, NULL)
