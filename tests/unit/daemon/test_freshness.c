// Frames that should keep coming are missed after 700 ms, those of a slow camera after three of its
// intervals.

#include "daemon/front/stream/stream.h"

#include "tests/unit/unit.h"

#define MS INT64_C(1000000)

TEST(test_frames_may_be_700_ms_apart)
{
    struct freshness freshness = {0};

    freshness_start(&freshness, 1000 * MS);
    assert_int_equal(freshness_left_ns(&freshness, 1000 * MS), 700 * MS);
    freshness_note(&freshness, 1033 * MS);
    assert_int_equal(freshness_left_ns(&freshness, 1100 * MS), 633 * MS);
    assert_int_equal(freshness_left_ns(&freshness, 1734 * MS), -1 * MS);
}

TEST(test_a_slow_camera_has_three_intervals)
{
    struct freshness freshness = {0};

    freshness_start(&freshness, 0);
    freshness_note(&freshness, 500 * MS);
    freshness_note(&freshness, 1000 * MS);
    assert_int_equal(freshness_left_ns(&freshness, 1000 * MS), 1500 * MS);
}

TEST(test_a_pause_is_no_frame_rate)
{
    struct freshness freshness = {0};

    freshness_start(&freshness, 0);
    freshness_note(&freshness, 9000 * MS);
    assert_int_equal(freshness_left_ns(&freshness, 9000 * MS), 700 * MS);
}

TEST(test_long_intervals_in_a_row_are_a_frame_rate)
{
    struct freshness freshness = {0};

    freshness_start(&freshness, 0);
    freshness_note(&freshness, 100 * MS);
    freshness_note(&freshness, 3100 * MS);
    assert_int_equal(freshness_left_ns(&freshness, 3100 * MS), 700 * MS);
    freshness_note(&freshness, 6000 * MS);
    assert_int_equal(freshness_left_ns(&freshness, 6000 * MS), 8700 * MS);
    freshness_note(&freshness, 9000 * MS);
    assert_int_equal(freshness_left_ns(&freshness, 9000 * MS), 8700 * MS);
    freshness_note(&freshness, 9033 * MS); // it is fast again
    assert_int_equal(freshness_left_ns(&freshness, 9033 * MS), 700 * MS);
    freshness_note(&freshness, 109033 * MS);
    freshness_note(&freshness, 209033 * MS);
    assert_int_equal(freshness_left_ns(&freshness, 209033 * MS), 60000 * MS);
}

TEST(test_a_new_start_between_two_frames_keeps_the_rate)
{
    struct freshness freshness = {0};

    freshness_start(&freshness, 0);
    freshness_note(&freshness, 1000 * MS);
    freshness_note(&freshness, 2000 * MS);
    freshness_start(&freshness, 9900 * MS);
    freshness_note(&freshness, 10000 * MS);
    assert_int_equal(freshness_left_ns(&freshness, 10000 * MS), 3000 * MS);
}

TEST(test_the_camera_process_knows_how_long_its_camera_may_pause)
{
    struct freshness freshness = {.patience_ns = 9000 * MS};

    freshness_start(&freshness, 0);
    for (int64_t i = 0; i < 75; i++)
        freshness_note(&freshness, 3000 * MS + i * MS);
    assert_int_equal(freshness_left_ns(&freshness, 3074 * MS), 9200 * MS);
    freshness.patience_ns = 500 * MS;
    assert_int_equal(freshness_left_ns(&freshness, 3074 * MS), 700 * MS);
}

RUN_TESTS(NULL, NULL)
