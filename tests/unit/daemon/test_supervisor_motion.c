// Motion events of real processes: the fake camera, which says some of them wrong, loses its signal
// and is killed in the middle of one.
#include "tests/unit/daemon/supervised.h"

#include "tests/unit/caught_stderr.h"

#include <signal.h>

// The regions that are shown.
static unsigned count_regions(struct fixture *fixture)
{
    const struct regions *regions = describe(fixture).regions;
    unsigned count = 0;

    for (size_t i = 0; i < regions->count; i++)
        count += regions->list[i].shown;
    return count;
}

static bool is_moving(struct fixture *fixture)
{
    return count_regions(fixture) == 2 && describe(fixture).regions->list[0].moving;
}

// A camera that is live, with its process set moving.
static void start_moving(struct fixture *fixture)
{
    start(fixture, "motion");
    wait_until(fixture, is_live);
    kill(describe(fixture).pid, SIGUSR1);
    wait_until(fixture, is_moving);
}

static void assert_ended(const struct fixture *fixture, const char *reason)
{
    assert_int_equal(fixture->motion_count, 2);
    assert_string_equal(motion_kind_name(fixture->motion[0].kind), "motion_started");
    assert_string_equal(motion_kind_name(fixture->motion[1].kind), "motion_ended");
    assert_string_equal(motion_reason_name(fixture->motion[1].reason), reason);
    assert_string_equal(fixture->motion[1].region, "door");
    assert_int_equal(fixture->motion[1].number, 1);
}

TEST(test_another_configuration_leaves_no_event_open, set_up, tear_down)
{
    struct fixture *fixture = *state;

    start_moving(fixture);
    replace_process(fixture);
    assert_ended(fixture, "reconfigured");
    assert_int_equal(count_regions(fixture), 0);
}

// The log until the process of `mode`, told to send its event, has been replaced.
static void provoke(struct fixture *fixture, const char *mode, char *ret_said, size_t size)
{
    uint64_t restarts = describe(fixture).restarts;

    setenv("FAKE_CAMERA", mode, 1);
    replace_process(fixture);
    wait_until(fixture, is_live);
    catch_stderr();
    kill(describe(fixture).pid, SIGUSR1);
    while (describe(fixture).restarts == restarts)
        g_main_context_iteration(NULL, TRUE);
    rewind(caught);
    ret_said[fread(ret_said, 1, size - 1, caught)] = 0;
    release_stderr();
}

TEST(test_an_event_that_is_wrong_replaces_the_process_and_is_not_told, set_up, tear_down)
{
    static const char *const wrong[] = {
        "name", "endless-name", "no-name", "kind", "share", "peak", "time", "future", "size",
    };
    struct fixture *fixture = *state;
    char mode[64], said[4096];

    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        snprintf(mode, sizeof mode, "bad-motion-%s", wrong[i]);
        provoke(fixture, mode, said, sizeof said);
        assert_non_null(strstr(said, "front: the camera process sent a bad motion message of "));
    }
    assert_int_equal(fixture->motion_count, 0);
}

TEST(test_telemetry_of_a_region_that_is_wrong_replaces_the_process, set_up, tear_down)
{
    static const char *const wrong[] = {"name", "share"};
    struct fixture *fixture = *state;
    char mode[64], said[4096];

    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        snprintf(mode, sizeof mode, "bad-motion-telemetry-%s", wrong[i]);
        provoke(fixture, mode, said, sizeof said);
        assert_non_null(strstr(said, "front: the camera process sent a bad telemetry message of "));
    }
    assert_int_equal(count_regions(fixture), 0);
}

int main(void)
{
    return run_unit_tests(NULL, NULL);
}
