// Frames that should keep coming are missed after 700 ms, those of a slow camera after three of its
// intervals.

#include "daemon/front/freshness.h"

#include "tests/unit/unit.h"

#define MS INT64_C(1000000)

static void test_frames_may_be_700_ms_apart(void **state)
{
    struct freshness freshness = {0};

    freshness_start(&freshness, 1000 * MS);
    assert_int_equal(freshness_left_ns(&freshness, 1000 * MS), 700 * MS);
    freshness_note(&freshness, 1033 * MS);
    assert_int_equal(freshness_left_ns(&freshness, 1100 * MS), 633 * MS);
    assert_int_equal(freshness_left_ns(&freshness, 1734 * MS), -1 * MS);
    (void)state;
}

static void test_a_slow_camera_has_three_intervals(void **state)
{
    struct freshness freshness = {0};

    freshness_start(&freshness, 0);
    freshness_note(&freshness, 500 * MS);
    freshness_note(&freshness, 1000 * MS);
    assert_int_equal(freshness_left_ns(&freshness, 1000 * MS), 1500 * MS);
    (void)state;
}

static void test_a_pause_is_no_frame_rate(void **state)
{
    struct freshness freshness = {0};

    freshness_start(&freshness, 0);
    freshness_note(&freshness, 9000 * MS);
    assert_int_equal(freshness_left_ns(&freshness, 9000 * MS), 700 * MS);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_may_be_700_ms_apart),
        cmocka_unit_test(test_a_slow_camera_has_three_intervals),
        cmocka_unit_test(test_a_pause_is_no_frame_rate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
