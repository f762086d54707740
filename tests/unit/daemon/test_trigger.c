// When events begin and end, on sequences of shares made by hand. A look every 100 ms.
#include "tests/unit/unit.h"

#include "config/base.h"
#include "daemon/camera/motion_watch.h"

#include <string.h>

#define FRAME_NS (100 * NS_PER_MS)

static char name[] = "gate";

// Begins with 10 % for 0.2 s, is over with less than 5 % for 0.3 s.
static struct trigger new_trigger(void)
{
    const struct config_region settings = {
        .name = name, .start = 10, .end = 5, .duration_s = 0.2, .cooldown_s = 0.3};
    struct trigger trigger;

    trigger_init(&trigger, &settings);
    return trigger;
}

static bool step(struct trigger *trigger, int64_t pts_ns, unsigned percent,
                 struct link_event *ret_event)
{
    const struct region_reading reading = {.cells = 200,
                                           .moving = 2 * percent,
                                           .x = percent,
                                           .y = 1,
                                           .width = percent ? 2 : 0,
                                           .height = percent ? 3 : 0};

    return trigger_step(trigger, pts_ns, &reading, ret_event);
}

// Frames 0, 1, … with these percents; the letters of `expected` say what each does: '(' begins an
// event, ')' ends one.
static void check(struct trigger *trigger, const unsigned *percents, const char *expected)
{
    struct link_event event;

    for (int64_t i = 0; expected[i]; i++) {
        bool news = step(trigger, i * FRAME_NS, percents[i], &event);

        assert_int_equal(news, expected[i] != '.');
        if (news) {
            assert_int_equal(event.kind, expected[i] == '(' ? LINK_EVENT_MOTION_STARTED
                                                            : LINK_EVENT_MOTION_ENDED);
            assert_int_equal(event.at_ns, i * FRAME_NS);
        }
        assert_true(trigger->region.share == (float)(percents[i] / 100.0));
    }
}

TEST(test_an_event_takes_motion_in_every_look_for_its_duration)
{
    static const unsigned percents[] = {0, 10, 10, 9, 10, 30, 10, 10, 0};
    struct trigger trigger = new_trigger();

    check(&trigger, percents, "......(..");
    assert_true(trigger.region.moving);
}

TEST(test_an_event_ends_after_stillness_in_every_look_for_the_cooldown)
{
    //                                  0   1   2  3  4  5  6  7  8  9 10 11
    static const unsigned percents[] = {10, 10, 10, 4, 4, 4, 5, 4, 4, 0, 4, 0};
    struct trigger trigger = new_trigger();

    check(&trigger, percents, "..(.......).");
    assert_false(trigger.region.moving);
}

TEST(test_events_follow_each_other)
{
    //                                  0   1   2  3  4  5  6   7   8   9
    static const unsigned percents[] = {10, 10, 10, 0, 0, 0, 0, 10, 10, 10, 0, 0, 0, 0};
    struct trigger trigger = new_trigger();

    check(&trigger, percents, "..(...)..(...)");
}

TEST(test_what_is_told_of_an_event)
{
    static const unsigned percents[] = {0, 60, 20, 10, 50, 70, 3, 2, 1};
    struct trigger trigger = new_trigger();
    struct link_event event = {0};

    for (int64_t i = 0; i < 4; i++)
        step(&trigger, i * FRAME_NS, percents[i], &event);
    assert_int_equal(event.kind, LINK_EVENT_MOTION_STARTED);
    assert_int_equal(event.started_ns, FRAME_NS);
    assert_int_equal(event.at_ns, 3 * FRAME_NS);
    assert_true(event.peak_share == 0.6F);
    assert_string_equal(event.region.name, "gate");
    assert_int_equal(event.region.moving, 1);
    assert_int_equal(event.region.box.x, 10);
    assert_int_equal(event.region.box.height, 3);
    assert_true(event.region.share == 0.1F);

    for (int64_t i = 4; i < 10; i++)
        step(&trigger, i * FRAME_NS, i < 9 ? percents[i] : 0, &event);
    assert_int_equal(event.kind, LINK_EVENT_MOTION_ENDED);
    assert_int_equal(event.started_ns, FRAME_NS);
    assert_int_equal(event.at_ns, 9 * FRAME_NS);
    assert_true(event.peak_share == 0.7F);
    assert_int_equal(event.region.moving, 0);
    assert_int_equal(event.region.box.width, 0);
    assert_true(event.region.share == 0);
}

TEST(test_the_peak_is_of_the_event_alone)
{
    static const unsigned percents[] = {90, 0, 10, 20, 10};
    struct trigger trigger = new_trigger();

    check(&trigger, percents, "....(");
    assert_true(trigger.peak_share == 0.2F);
    assert_int_equal(trigger.started_ns, 2 * FRAME_NS);
}

TEST(test_without_waiting_one_look_is_enough)
{
    static const unsigned percents[] = {0, 10, 4, 10, 10, 5, 4};
    struct trigger trigger = new_trigger();

    trigger.duration_ns = trigger.cooldown_ns = 0;
    check(&trigger, percents, ".()(..)");
}

// A clip that is played again, a clock that is set back.
TEST(test_frames_from_before_take_waiting_back)
{
    struct trigger trigger = new_trigger();
    struct link_event event;

    assert_false(step(&trigger, 100 * FRAME_NS, 50, &event));
    assert_false(step(&trigger, 101 * FRAME_NS, 50, &event));
    assert_false(step(&trigger, 5 * FRAME_NS, 50, &event));
    assert_false(step(&trigger, 6 * FRAME_NS, 50, &event));
    assert_true(step(&trigger, 7 * FRAME_NS, 50, &event));
    assert_int_equal(event.started_ns, 5 * FRAME_NS);
    assert_false(step(&trigger, 8 * FRAME_NS, 0, &event));
    assert_false(step(&trigger, 10 * FRAME_NS, 0, &event));
    assert_false(step(&trigger, 0, 0, &event));
    assert_false(step(&trigger, 2 * FRAME_NS, 0, &event));
    assert_true(step(&trigger, 3 * FRAME_NS, 0, &event));
}

TEST(test_lost_frames_end_an_event_untold)
{
    static const unsigned percents[] = {50, 50, 50};
    struct trigger trigger = new_trigger();

    check(&trigger, percents, "..(");
    trigger_reset(&trigger);
    assert_int_equal(trigger.region.moving, 0);
    assert_int_equal(trigger.region.box.width, 0);
    assert_true(trigger.region.share == 0);
    check(&trigger, percents, "..(");
}

TEST(test_a_region_without_cells_has_no_share)
{
    struct trigger trigger = new_trigger();
    struct link_event event;

    for (int64_t i = 0; i < 10; i++)
        assert_false(trigger_step(&trigger, i * FRAME_NS, &(struct region_reading){0}, &event));
    assert_true(trigger.region.share == 0);
}

RUN_TESTS(NULL, NULL)
