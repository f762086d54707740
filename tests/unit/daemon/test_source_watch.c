// When the camera is tried again, and when the slate is shown, in hand-worked times.

#include "daemon/camera/source_watch.h"
#include "tests/unit/unit.h"

#define MS(x) ((x)*NS_PER_MS)

TEST(test_tries_come_at_growing_distances_up_to_2_s)
{
    static const int64_t expected_ms[] = {100, 200, 400, 800, 1600, 2000, 2000};
    struct source_watch watch;

    source_watch_init(&watch, MS(1000));
    assert_int_equal(watch.retry_ns, 0); // at once
    for (size_t i = 0; i < ARRAY_LENGTH(expected_ms); i++) {
        assert_int_equal(source_watch_lose(&watch, MS(5000)), MS(expected_ms[i]));
        assert_int_equal(watch.retry_ns, MS(5000 + expected_ms[i]));
    }
    source_watch_live(&watch);
    assert_int_equal(source_watch_lose(&watch, MS(5000)), MS(100));
}

TEST(test_a_camera_that_may_have_come_is_tried_at_once_and_as_at_first)
{
    struct source_watch watch;

    source_watch_init(&watch, MS(1000));
    for (int i = 0; i < 8; i++)
        source_watch_lose(&watch, MS(5000));
    source_watch_device_came(&watch, MS(5100));
    assert_int_equal(watch.retry_ns, MS(5100));
    assert_int_equal(source_watch_lose(&watch, MS(5150)), MS(100));
    source_watch_device_came(&watch, MS(5200)); // of the same camera, as its permissions change
    assert_int_equal(watch.retry_ns, MS(5250));
    assert_int_equal(source_watch_lose(&watch, MS(5250)), MS(200));
    source_watch_device_came(&watch, MS(6100));
    assert_int_equal(watch.retry_ns, MS(6100));
}

TEST(test_a_camera_is_silent_after_2_s_without_a_frame)
{
    struct source_watch watch;

    source_watch_init(&watch, MS(1000));
    source_watch_frame(&watch, MS(4000));
    assert_false(source_watch_is_silent(&watch, MS(5999)));
    assert_true(source_watch_is_silent(&watch, MS(6000)));
}

TEST(test_a_camera_with_a_picture_every_4_s_is_not_silent_in_between)
{
    struct source_watch watch;
    int64_t seconds;

    source_watch_init(&watch, MS(1000));
    source_watch_rate(&watch, 30, 1); // as configured, where the camera tells none
    source_watch_period(&watch, MS(4000));
    source_watch_frame(&watch, MS(2000));
    assert_false(source_watch_is_silent(&watch, MS(13999)));
    assert_false(source_watch_slate(&watch, MS(13999), &seconds));
    assert_true(source_watch_is_silent(&watch, MS(14000)));
}

TEST(test_slates_begin_after_500_ms_and_come_every_200)
{
    struct source_watch watch;
    int64_t seconds = -1;

    source_watch_init(&watch, MS(1000));
    source_watch_frame(&watch, MS(2000));
    assert_int_equal(source_watch_next_slate_ns(&watch), MS(2500));
    assert_false(source_watch_slate(&watch, MS(2499), &seconds));
    assert_true(source_watch_slate(&watch, MS(2500), &seconds));
    assert_int_equal(seconds, 0);
    assert_int_equal(source_watch_next_slate_ns(&watch), MS(2700));
    assert_false(source_watch_slate(&watch, MS(2699), &seconds));
    assert_true(source_watch_slate(&watch, MS(2700), &seconds));
}

TEST(test_a_slate_counts_from_the_first_loss)
{
    struct source_watch watch;
    int64_t seconds = -1;

    source_watch_init(&watch, MS(1000));
    source_watch_frame(&watch, MS(2000));
    source_watch_lose(&watch, MS(3000));
    source_watch_lose(&watch, MS(3200));
    assert_true(source_watch_slate(&watch, MS(5999), &seconds));
    assert_int_equal(seconds, 2);
    assert_true(source_watch_slate(&watch, MS(6200), &seconds));
    assert_int_equal(seconds, 3);
}

TEST(test_a_slow_camera_has_three_periods)
{
    struct source_watch watch;
    int64_t seconds = -1;

    source_watch_init(&watch, MS(1000));
    source_watch_rate(&watch, 1, 2);
    source_watch_frame(&watch, MS(2000));
    assert_int_equal(source_watch_next_slate_ns(&watch), MS(8000));
    assert_false(source_watch_slate(&watch, MS(7999), &seconds));
    assert_false(source_watch_is_silent(&watch, MS(7999)));
    assert_true(source_watch_slate(&watch, MS(8000), &seconds));
    assert_true(source_watch_is_silent(&watch, MS(8000)));

    source_watch_rate(&watch, 1, 1000); // not an hour
    assert_false(source_watch_is_silent(&watch, MS(61999)));
    assert_true(source_watch_is_silent(&watch, MS(62000)));
}

TEST(test_a_rate_shortens_nothing_and_is_lost_with_the_source)
{
    struct source_watch watch;

    source_watch_init(&watch, MS(1000));
    source_watch_rate(&watch, 30, 1);
    source_watch_frame(&watch, MS(2000));
    assert_int_equal(source_watch_next_slate_ns(&watch), MS(2500));
    assert_false(source_watch_is_silent(&watch, MS(3999)));
    assert_true(source_watch_is_silent(&watch, MS(4000)));

    source_watch_rate(&watch, 1, 1);
    assert_int_equal(source_watch_next_slate_ns(&watch), MS(5000));
    source_watch_lose(&watch, MS(2100)); // unplugged: the slate does not wait
    assert_int_equal(source_watch_next_slate_ns(&watch), MS(2500));
}

TEST(test_a_refused_login_is_tried_after_1_2_5_and_10_minutes)
{
    static const int minutes[] = {1, 2, 5, 10, 10, 10};
    struct source_watch watch;
    int64_t now_ns = MS(1000);

    source_watch_init(&watch, now_ns);
    for (size_t i = 0; i < ARRAY_LENGTH(minutes); i++) {
        assert_int_equal(source_watch_refuse(&watch, now_ns), MS(minutes[i] * 60000));
        assert_int_equal(watch.retry_ns, now_ns + MS(minutes[i] * 60000));
        now_ns = watch.retry_ns;
    }
    source_watch_ask_anew(&watch, now_ns);
    assert_int_equal(watch.retry_ns, now_ns);
    assert_int_equal(source_watch_refuse(&watch, now_ns), MS(60000));
    source_watch_live(&watch);
    assert_int_equal(source_watch_lose(&watch, now_ns), MS(100));
}

RUN_TESTS(NULL, NULL)
