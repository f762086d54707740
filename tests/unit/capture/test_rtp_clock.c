#include "capture/gstreamer/rtp_clock.h"

#include "tests/unit/unit.h"

#define TICKS_PER_MS 90
#define PICTURE_MS 40

// A camera that was switched on in the middle of RTP's clock.
struct camera {
    struct rtp_clock clock;
    int64_t began_ns;
    uint32_t began_stamp;
};

static struct camera start_camera(uint32_t stamp)
{
    return (struct camera){.began_ns = 1000 * NS_PER_S, .began_stamp = stamp};
}

// A picture of so many milliseconds after the start comes so many after it. Returns by how much its
// time is off, in milliseconds.
static int64_t send(struct camera *camera, int64_t captured_ms, int64_t comes_ms)
{
    rtp_clock_note(&camera->clock, camera->began_stamp + (uint32_t)(captured_ms * TICKS_PER_MS),
                   camera->began_ns + comes_ms * NS_PER_MS);
    return (camera->clock.captured_ns - camera->began_ns) / NS_PER_MS - captured_ms;
}

// When a burst with a picture comes.
static int64_t burst_ms(int64_t captured_ms, int64_t every_ms)
{
    return (captured_ms / every_ms + 1) * every_ms;
}

TEST(test_pictures_of_bursts_keep_their_distances_after_the_first)
{
    static const int64_t every_ms[] = {333, 1000, 3000};

    for (size_t i = 0; i < ARRAY_LENGTH(every_ms); i++) {
        struct camera camera = start_camera(UINT32_MAX - 100 * 1000); // which wraps soon
        int64_t first_off_ms = 0;

        for (int64_t ms = 0; ms < 60000; ms += PICTURE_MS) {
            int64_t off_ms = send(&camera, ms, burst_ms(ms, every_ms[i]));

            first_off_ms = ms == every_ms[i] / PICTURE_MS * PICTURE_MS ? off_ms : first_off_ms;
            if (ms > 2 * every_ms[i])
                assert_in_range(off_ms, 0, 2 * PICTURE_MS);
        }
        assert_true(first_off_ms < 2 * PICTURE_MS);
    }
}

TEST(test_a_late_picture_is_dated_when_it_was_captured)
{
    struct camera camera = start_camera(0);

    for (int64_t ms = 0; ms < 60000; ms += PICTURE_MS) {
        int64_t late_ms = ms % 1000 == 0 ? 300 : 0;
        int64_t off_ms = send(&camera, ms, ms + late_ms);

        if (ms > PICTURE_MS)
            assert_int_equal(off_ms, 0);
    }
}

// A quartz may be 0.1 % off, a bad clock 10 %.
TEST(test_a_clock_that_runs_slow_or_fast_is_followed)
{
    static const int64_t per_mille[] = {900, 999, 1001, 1100};

    for (size_t i = 0; i < ARRAY_LENGTH(per_mille); i++) {
        struct camera camera = start_camera(7);

        for (int64_t ms = 0; ms < 600000; ms += PICTURE_MS) {
            int64_t comes_ms = ms * per_mille[i] / 1000;
            int64_t age_ms = comes_ms - ms - send(&camera, ms, comes_ms);

            assert_in_range(age_ms, 0, 1100);
        }
    }
}

TEST(test_a_clock_that_is_set_is_believed_from_then_on)
{
    struct camera camera = start_camera(0);
    int64_t set_ms = 0;

    for (int64_t ms = 0; ms < 60000; ms += PICTURE_MS) {
        if (ms == 20000)
            set_ms = 3600 * 1000;
        if (ms == 40000)
            set_ms = -9800 * 1000;
        assert_int_equal(send(&camera, ms + set_ms, ms) + set_ms, 0);
    }
}

TEST(test_stamps_of_another_rate_are_not_believed)
{
    struct camera camera = start_camera(0);
    int64_t off_ms = 0;

    // 1000 a second.
    for (int64_t ms = 0; ms < 60000; ms += PICTURE_MS) {
        rtp_clock_note(&camera.clock, (uint32_t)ms, camera.began_ns + ms * NS_PER_MS);
        off_ms = (camera.clock.captured_ns - camera.began_ns) / NS_PER_MS - ms;
        assert_in_range(-off_ms, 0, 6000);
    }
    assert_int_equal(off_ms, 0);
}

// As a window of 5 s ends, the newest stamp is old.
TEST(test_pictures_keep_their_distances_whenever_a_network_stands_still)
{
    for (int64_t stall_ms = 5000; stall_ms < 16000; stall_ms += 200) {
        struct camera camera = start_camera(0);

        for (int64_t ms = 0; ms < 30000; ms += PICTURE_MS) {
            bool waits = ms >= stall_ms && ms < stall_ms + 3800;

            assert_int_equal(send(&camera, ms, waits ? stall_ms + 3800 : ms), 0);
        }
    }
}

TEST(test_stamps_without_sense_overflow_nothing)
{
    static const uint32_t steps[] = {INT32_MAX, 5900 * TICKS_PER_MS, (uint32_t)INT32_MIN};

    for (size_t i = 0; i < ARRAY_LENGTH(steps); i++) {
        struct rtp_clock clock = {0};
        int64_t now_ns = 1000 * NS_PER_S;

        for (uint32_t number = 0; number < 1000000; number++, now_ns += 40 * NS_PER_US) {
            rtp_clock_note(&clock, number * steps[i], now_ns);
            assert_in_range(now_ns - clock.captured_ns, 0, 6 * NS_PER_S);
            assert_in_range(llabs(clock.ticks), 0, INT64_MAX / NS_PER_MS);
        }
    }
}

RUN_TESTS(NULL, NULL)
