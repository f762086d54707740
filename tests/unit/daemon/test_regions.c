// Reports of a camera's processes on its regions, and the pairs of events and sums made from them.
#include "tests/unit/unit.h"

#include "daemon/front/events/regions.h"

#include "config/base.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SECOND NS_PER_S

struct fixture {
    struct regions regions;
    struct motion_event told[16];
    size_t count;
};

static void take(void *context, const struct motion_event *event)
{
    struct fixture *fixture = context;

    assert_in_range(fixture->count, 0, ARRAY_LENGTH(fixture->told) - 1);
    fixture->told[fixture->count++] = *event;
}

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);

    regions_init(&fixture->regions, "front", take, fixture);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

// The event in `name` that began in second 10 * `number`; an end 4 s after it.
static void say(struct fixture *fixture, enum link_event_kind kind, const char *name,
                unsigned number)
{
    bool started = kind == LINK_EVENT_MOTION_STARTED;
    struct link_event event = {
        .kind = kind,
        .started_ns = 10 * number * SECOND,
        .at_ns = (10 * number + (started ? 1 : 4)) * SECOND,
        .peak_share = started ? 0.25f : 0.5f,
        .region = {.moving = started, .share = started ? 0.25f : 0, .box = {1, 2, 3, 4}}};

    snprintf(event.region.name, sizeof event.region.name, "%s", name);
    regions_take_event(&fixture->regions, &event);
}

static void say_started(struct fixture *fixture, const char *name, unsigned number)
{
    say(fixture, LINK_EVENT_MOTION_STARTED, name, number);
}

static void say_ended(struct fixture *fixture, const char *name, unsigned number)
{
    say(fixture, LINK_EVENT_MOTION_ENDED, name, number);
}

static void say_telemetry(struct fixture *fixture, enum link_camera_state camera, const char *name,
                          bool moving)
{
    struct link_telemetry telemetry = {.state = camera};
    struct link_region *region = &telemetry.regions[0];

    snprintf(region->name, sizeof region->name, "%s", name);
    region->moving = moving;
    region->share = moving ? 0.75f : 0;
    regions_take_telemetry(&fixture->regions, &telemetry);
}

static void assert_told(const struct fixture *fixture, size_t index, enum motion_kind kind,
                        uint64_t number)
{
    assert_true(index < fixture->count);
    assert_string_equal(motion_kind_name(fixture->told[index].kind), motion_kind_name(kind));
    assert_int_equal(fixture->told[index].number, number);
    assert_string_equal(fixture->told[index].camera, "front");
}

static void assert_ended(const struct fixture *fixture, size_t index, uint64_t number,
                         enum motion_reason reason)
{
    assert_told(fixture, index, MOTION_ENDED, number);
    assert_string_equal(motion_reason_name(fixture->told[index].reason),
                        motion_reason_name(reason));
}

// The first region that is shown, of `expected`; {0}: none is.
static struct region describe(const struct fixture *fixture, size_t expected)
{
    struct region first = {0};
    size_t count = 0;

    for (size_t i = 0; i < fixture->regions.count; i++) {
        if (fixture->regions.list[i].shown && count++ == 0)
            first = fixture->regions.list[i];
    }
    assert_int_equal(count, expected);
    return first;
}

TEST(test_an_event_is_told_as_the_process_says_it, setup, teardown)
{
    struct fixture *fixture = *state;
    const struct motion_event *told = fixture->told;

    say_started(fixture, "door", 1);
    assert_true(describe(fixture, 1).moving);
    say_ended(fixture, "door", 1);
    assert_int_equal(fixture->count, 2);
    assert_told(fixture, 0, MOTION_STARTED, 1);
    assert_string_equal(told[0].region, "door");
    assert_int_equal(told[0].started_ns, 10 * SECOND);
    assert_int_equal(told[0].at_ns, 11 * SECOND);
    assert_float_equal(told[0].share, 0.25, 0);
    assert_float_equal(told[0].peak, 0.25, 0);
    assert_int_equal(told[0].box.x, 1);
    assert_int_equal(told[0].box.y, 2);
    assert_int_equal(told[0].box.width, 3);
    assert_int_equal(told[0].box.height, 4);
    assert_ended(fixture, 1, 1, MOTION_STILL);
    assert_int_equal(told[1].started_ns, 10 * SECOND);
    assert_int_equal(told[1].at_ns, 14 * SECOND);
    assert_float_equal(told[1].peak, 0.5, 0);
    assert_false(describe(fixture, 1).moving);
    assert_int_equal(describe(fixture, 1).events, 1);
}

TEST(test_the_clock_of_day_of_a_frame_is_as_far_back_as_the_frame, setup, teardown)
{
    struct fixture *fixture = *state;
    struct link_event event = {.region.name = "door"};
    struct timespec now;

    event.started_ns = event.at_ns = clock_now_ns() - 5 * SECOND;
    regions_take_event(&fixture->regions, &event);
    clock_gettime(CLOCK_REALTIME, &now);
    assert_in_range(now.tv_sec * SECOND + now.tv_nsec - fixture->told[0].wall_ns, 5 * SECOND,
                    6 * SECOND);
}

TEST(test_a_lost_signal_ends_what_moves_once, setup, teardown)
{
    struct fixture *fixture = *state;

    say_started(fixture, "door", 1);
    say_telemetry(fixture, LINK_CAMERA_NO_SIGNAL, "door", true);
    say_telemetry(fixture, LINK_CAMERA_NO_SIGNAL, "door", true);
    say_ended(fixture, "door",
              1); // late, or the process ends it itself when there are frames again
    assert_int_equal(fixture->count, 2);
    assert_ended(fixture, 1, 1, MOTION_NO_SIGNAL);
    assert_float_equal(describe(fixture, 1).share, 0, 0);
    say_started(fixture, "door", 2);
    assert_told(fixture, 2, MOTION_STARTED, 2);
}

TEST(test_the_end_of_a_process_ends_what_moves_and_numbers_go_on, setup, teardown)
{
    struct fixture *fixture = *state;

    say_started(fixture, "door", 1);
    say_ended(fixture, "door", 1);
    say_started(fixture, "door", 2);
    say_telemetry(fixture, LINK_CAMERA_LIVE, "door", true);
    regions_end_all(&fixture->regions, MOTION_PROCESS_ENDED);
    assert_ended(fixture, 3, 2, MOTION_PROCESS_ENDED);
    assert_true(fixture->told[3].at_ns >= fixture->told[3].started_ns);
    say_telemetry(fixture, LINK_CAMERA_LIVE, "door", false);
    assert_int_equal(describe(fixture, 1).events, 2);
    say_started(fixture, "door", 3);
    assert_told(fixture, 4, MOTION_STARTED, 3);
    assert_int_equal(describe(fixture, 1).events, 3);
    regions_end_all(&fixture->regions, MOTION_STOPPING);
    assert_ended(fixture, 5, 3, MOTION_STOPPING);
}

TEST(test_an_end_brings_its_lost_start_along, setup, teardown)
{
    struct fixture *fixture = *state;

    say_ended(fixture, "door", 1);
    assert_int_equal(fixture->count, 2);
    assert_told(fixture, 0, MOTION_STARTED, 1);
    assert_ended(fixture, 1, 1, MOTION_STILL);
}

TEST(test_a_start_ends_the_event_whose_end_was_lost, setup, teardown)
{
    struct fixture *fixture = *state;

    say_started(fixture, "door", 1);
    say_started(fixture, "door", 1); // the same again is no news
    say_started(fixture, "door", 2);
    assert_int_equal(fixture->count, 3);
    assert_ended(fixture, 1, 1, MOTION_LOST);
    assert_told(fixture, 2, MOTION_STARTED, 2);
    say_ended(fixture, "door", 2);
    assert_ended(fixture, 3, 2, MOTION_STILL);
}

TEST(test_telemetry_shows_shares_and_regions_without_events, setup, teardown)
{
    struct fixture *fixture = *state;

    say_telemetry(fixture, LINK_CAMERA_LIVE, "yard", false);
    assert_string_equal(describe(fixture, 1).name, "yard");
    assert_int_equal(describe(fixture, 1).events, 0);
    assert_false(describe(fixture, 1).moving);
    say_started(fixture, "yard", 1);
    say_telemetry(fixture, LINK_CAMERA_LIVE, "yard", true);
    assert_float_equal(describe(fixture, 1).share, 0.75, 0);
    regions_end_all(&fixture->regions, MOTION_PROCESS_ENDED);
    assert_float_equal(fixture->told[1].peak, 0.75, 0);
}

TEST(test_another_configuration_ends_hides_and_remembers, setup, teardown)
{
    struct fixture *fixture = *state;

    say_started(fixture, "door", 1);
    regions_reconfigure(&fixture->regions);
    assert_ended(fixture, 1, 1, MOTION_RECONFIGURED);
    describe(fixture, 0);
    say_telemetry(fixture, LINK_CAMERA_STARTING, "door", false);
    assert_int_equal(describe(fixture, 1).events, 1);
}

TEST(test_a_camera_has_8_regions_and_new_ones_take_the_places_of_old, setup, teardown)
{
    struct fixture *fixture = *state;
    char name[16];

    for (unsigned i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "region%u", i);
        say_started(fixture, name, 1);
    }
    say_started(fixture, "ninth", 1);
    assert_int_equal(fixture->count, 8); // it was left out
    describe(fixture, 8);
    // A process that goes on under another configuration names none of them any more.
    say_telemetry(fixture, LINK_CAMERA_LIVE, "ninth", false);
    assert_int_equal(fixture->count, 16);
    assert_ended(fixture, 15, 1, MOTION_RECONFIGURED);
    assert_string_equal(describe(fixture, 1).name, "ninth");
    assert_int_equal(describe(fixture, 1).events, 0);
    say_telemetry(fixture, LINK_CAMERA_LIVE, "region7", true); // comes back
    assert_int_equal(describe(fixture, 1).events, 1);
}

RUN_TESTS(NULL, NULL)
