// Size and rate that a slow encoder's view gives up, and when it has them back, on a clock of the
// test's own. The times are worked out by hand from what governor.h promises.
#include "daemon/camera/governor.h"

#include "config/base.h"
#include "tests/unit/unit.h"

#define FRAME_NS (NS_PER_S / 30)

// Frames for so many seconds to an encoder that takes `frame_ns` for each at full size, and has no
// queue but the one that the frames which come while it is busy would make.
static void run(struct governor *governor, int64_t *now_ns, double seconds, int64_t frame_ns)
{
    int64_t end_ns = *now_ns + (int64_t)(seconds * NS_PER_S), free_ns = *now_ns;

    for (; *now_ns < end_ns; *now_ns += FRAME_NS) {
        const struct governor_level *level = governor_level(governor);
        int64_t busy_ns = frame_ns / (level->size_divisor * level->size_divisor);

        if (governor_look(governor, free_ns > *now_ns, *now_ns)) {
            free_ns = *now_ns; // those that waited are dropped
        }
        if (governor_takes(governor, false)) {
            free_ns = (free_ns > *now_ns ? free_ns : *now_ns) + busy_ns;
            governor_note(governor, busy_ns);
        }
    }
}

static const char *after(enum config_governor order, double seconds, int64_t frame_ms)
{
    struct governor governor;
    int64_t now_ns = NS_PER_S;

    governor_init(&governor, order);
    run(&governor, &now_ns, seconds, frame_ms * NS_PER_MS);
    return governor_level(&governor)->text;
}

// 30 frames a second leave 33 ms for each, half of them 66, a quarter 133.
TEST(test_only_as_much_is_given_up_as_it_takes)
{
    assert_string_equal(after(CONFIG_GOVERNOR_RATE_SIZE, 60, 30), "");
    assert_string_equal(after(CONFIG_GOVERNOR_RATE_SIZE, 60, 50), "rate 1/2");
    assert_string_equal(after(CONFIG_GOVERNOR_RATE_SIZE, 60, 120), "rate 1/4");
    assert_string_equal(after(CONFIG_GOVERNOR_RATE_SIZE, 60, 300), "rate 1/4, size 1/2");
}

TEST(test_the_order_is_the_configured_one)
{
    assert_string_equal(after(CONFIG_GOVERNOR_SIZE_RATE, 60, 50), "size 1/2");
    assert_string_equal(after(CONFIG_GOVERNOR_SIZE_RATE, 60, 200), "rate 1/2, size 1/2");
    assert_string_equal(after(CONFIG_GOVERNOR_RATE, 60, 1000), "rate 1/4");
    assert_string_equal(after(CONFIG_GOVERNOR_SIZE, 60, 1000), "size 1/2");
    assert_string_equal(after(CONFIG_GOVERNOR_OFF, 60, 1000), "");
}

TEST(test_it_acts_within_half_a_second_and_not_before_300_ms)
{
    assert_string_equal(after(CONFIG_GOVERNOR_RATE, 0.3, 50), "");
    assert_string_equal(after(CONFIG_GOVERNOR_RATE, 0.5, 50), "rate 1/2");
}

// Three levels of 2 s each.
TEST(test_all_of_it_is_back_within_10_s)
{
    struct governor governor;
    int64_t now_ns = NS_PER_S;

    governor_init(&governor, CONFIG_GOVERNOR_RATE_SIZE);
    run(&governor, &now_ns, 20, 300 * NS_PER_MS);
    assert_string_equal(governor_level(&governor)->text, "rate 1/4, size 1/2");
    run(&governor, &now_ns, 10, 10 * NS_PER_MS);
    assert_string_equal(governor_level(&governor)->text, "");
}

// 30 ms a frame would be 90 % of the whole rate: there is no room for it.
TEST(test_a_level_without_room_is_not_tried_again)
{
    struct governor governor;
    int64_t now_ns = NS_PER_S;

    governor_init(&governor, CONFIG_GOVERNOR_RATE);
    run(&governor, &now_ns, 5, 50 * NS_PER_MS);
    for (unsigned n = 0; n < 100; n++) {
        run(&governor, &now_ns, 0.5, 30 * NS_PER_MS);
        assert_string_equal(governor_level(&governor)->text, "rate 1/2");
    }
    run(&governor, &now_ns, 5, 20 * NS_PER_MS);
    assert_string_equal(governor_level(&governor)->text, "");
}

TEST(test_a_key_frame_is_always_taken)
{
    struct governor governor;
    int64_t now_ns = NS_PER_S;

    governor_init(&governor, CONFIG_GOVERNOR_RATE);
    run(&governor, &now_ns, 5, 120 * NS_PER_MS);
    assert_int_equal(governor_level(&governor)->rate_divisor, 4);
    for (unsigned n = 0; n < 3; n++)
        assert_true(governor_takes(&governor, true));
    assert_false(governor_takes(&governor, false));
    assert_false(governor_takes(&governor, false));
    assert_false(governor_takes(&governor, false));
    assert_true(governor_takes(&governor, false));
}

RUN_TESTS(NULL, NULL)
