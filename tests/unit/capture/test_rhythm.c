#include "capture/gstreamer/rhythm.h"

#include "tests/unit/unit.h"

#define PICTURE_MS 40

static void note(struct rhythm *rhythm, int64_t ms)
{
    rhythm_note(rhythm, 1000 * NS_PER_S + ms * NS_PER_MS);
}

// Pictures up to `to_ms`, in bursts that come at multiples of `every_ms`.
static void note_bursts(struct rhythm *rhythm, int64_t from_ms, int64_t to_ms, int64_t every_ms)
{
    for (int64_t ms = from_ms; ms < to_ms; ms += PICTURE_MS)
        note(rhythm, (ms / every_ms + 1) * every_ms);
}

static int64_t period_ms(const struct rhythm *rhythm)
{
    return rhythm_period_ns(rhythm) / NS_PER_MS;
}

TEST(test_one_picture_tells_no_period)
{
    struct rhythm rhythm = {0};

    assert_int_equal(rhythm_period_ns(&rhythm), 0);
    note(&rhythm, 0);
    assert_int_equal(rhythm_period_ns(&rhythm), 0);
    note(&rhythm, 0);
    assert_true(rhythm_period_ns(&rhythm) > 0);
}

TEST(test_even_pictures_have_the_shortest_period)
{
    struct rhythm rhythm = {0};

    note_bursts(&rhythm, 0, 4000, PICTURE_MS);
    assert_int_equal(period_ms(&rhythm), 350);
}

TEST(test_the_longest_pause_of_a_minute_is_the_period)
{
    struct rhythm rhythm = {0};

    note_bursts(&rhythm, 0, 30000, 1000);
    assert_int_equal(period_ms(&rhythm), 1000);
    note_bursts(&rhythm, 30000, 60000, PICTURE_MS);
    assert_in_range(period_ms(&rhythm), 960, 1000);
    note_bursts(&rhythm, 60000, 100000, PICTURE_MS);
    assert_int_equal(period_ms(&rhythm), 350);
}

TEST(test_an_outage_is_no_longer_period_than_a_burst)
{
    struct rhythm rhythm = {0};

    note_bursts(&rhythm, 0, 10000, PICTURE_MS);
    note(&rhythm, 40000);
    assert_in_range(period_ms(&rhythm), 2500, 4000);
    note_bursts(&rhythm, 40040, 50000, PICTURE_MS);
    assert_int_equal(period_ms(&rhythm), 3000);
}

TEST(test_rare_pictures_have_their_mean_distance)
{
    struct rhythm rhythm = {0};

    for (int64_t ms = 0; ms < 100000; ms += 5000)
        note(&rhythm, ms);
    assert_int_equal(period_ms(&rhythm), 5000);
}

// The first pause is no silence, for which three periods have to pass.
TEST(test_a_new_camera_may_pause_for_a_burst)
{
    struct rhythm rhythm = {0};

    note_bursts(&rhythm, 0, 3000, 3000);
    assert_true(3 * period_ms(&rhythm) > 3000);
}

RUN_TESTS(NULL, NULL)
