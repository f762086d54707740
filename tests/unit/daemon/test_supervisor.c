// Supervision of real processes: the fake camera, in its several moods.
#include "daemon/front/supervise/supervisor.c"

#include "daemon/link/link.h"
#include "tests/unit/caught_stderr.h"
#include "tests/unit/daemon/supervised.h"

#include <errno.h>
#include <signal.h>

TEST(test_delays_double_up_to_five_seconds_and_begin_anew_after_health)
{
    static const unsigned row[] = {0, 100, 200, 400, 800, 1600, 3200, 5000, 5000};
    struct supervisor supervisor = {.running_ns = 0};

    for (size_t i = 0; i < ARRAY_LENGTH(row); i++) {
        assert_int_equal(advance_backoff(&supervisor), row[i]);
        supervisor.running_ns = clock_now_ns() - 4 * NS_PER_S;
    }
    supervisor.running_ns = clock_now_ns() - 5 * NS_PER_S;
    for (int i = 0; i < 10; i++)
        assert_int_equal(advance_backoff(&supervisor), 0);
    supervisor.running_ns = 0;
    assert_int_equal(advance_backoff(&supervisor), 100);
}

TEST(test_a_camera_settles_with_its_slates_and_sends_once_watched, set_up, tear_down)
{
    struct fixture *fixture = *state;

    start(fixture, "");
    assert_string_equal(describe(fixture).state, "starting");
    assert_false(supervisor_is_settled(fixture->supervisor));
    wait_until(fixture, is_live);
    assert_true(supervisor_is_settled(fixture->supervisor));
    assert_true(stream_has_slates(fixture->stream));
    assert_true(fixture->changes >= 3); // two slates and the telemetry
    assert_false(has_frames(fixture));
    watch(fixture);
    wait_until(fixture, has_frames);
}

static bool is_live_again(struct fixture *fixture)
{
    return is_restarted(fixture) && is_live(fixture);
}

TEST(test_a_killed_process_is_replaced_at_once_and_told_what_is_watched, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct stream_statistics before, after;

    start(fixture, "");
    watch(fixture);
    wait_until(fixture, has_frames);
    pid_t killed = describe(fixture).pid;
    kill(killed, SIGKILL);
    wait_within(fixture, is_live_again, 0, 2 * NS_PER_S);
    assert_int_not_equal(describe(fixture).pid, killed);
    assert_int_equal(describe(fixture).restarts, 1);

    stream_count(fixture->stream, &before);
    do {
        g_main_context_iteration(NULL, TRUE);
        stream_count(fixture->stream, &after);
    } while (after.access_units < before.access_units + 5);
}

TEST(test_a_process_that_breaks_the_protocol_or_says_that_it_hangs_is_replaced)
{
    static const struct {
        const char *mood, *error;
    } cases[] = {{"garbage", "sent what is no message"},
                 {"two-hellos", "sent a second hello"},
                 {"bad-video", "bad access unit"},
                 {"lane-hung", "hangs: the fake lane hangs"}};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        assert_int_equal(set_up(state), 0);
        struct fixture *fixture = *state;

        start(fixture, cases[i].mood);
        wait_until(fixture, is_live);
        setenv("FAKE_CAMERA", "", 1); // the next one behaves
        watch(fixture);
        wait_until(fixture, is_restarted);
        assert_non_null(strstr(describe(fixture).error, cases[i].error));
        wait_until(fixture, has_frames);
        assert_int_equal(describe(fixture).restarts, 1);
        tear_down(state);
    }
}

static gboolean on_time(gpointer data)
{
    *(bool *)data = true;
    return G_SOURCE_REMOVE;
}

static void run_for(unsigned ms)
{
    bool over = false;

    g_timeout_add(ms, on_time, &over);
    while (!over)
        g_main_context_iteration(NULL, TRUE);
}

TEST(test_only_a_process_that_has_run_for_less_than_5_s_is_waited_for, set_up, tear_down)
{
    static const char again[] = "was killed by signal 9 (Killed), starting it again";
    static const unsigned lives_ms[] = {0, 0, 5200, 0};
    static const char *const delays[] = {"now", "in 0.1 s", "now", "in 0.1 s"};
    struct fixture *fixture = *state;
    char line[256];

    catch_stderr();
    start(fixture, "");
    for (size_t i = 0; i < ARRAY_LENGTH(lives_ms); i++) {
        wait_until(fixture, is_live);
        run_for(lives_ms[i]);
        kill(describe(fixture).pid, SIGKILL);
        while (describe(fixture).restarts == i)
            g_main_context_iteration(NULL, TRUE);
    }
    rewind(caught);
    for (size_t i = 0; i < ARRAY_LENGTH(lives_ms); i++) {
        do { // a slow machine has other things to tell as well
            assert_non_null(fgets(line, sizeof line, caught));
        } while (!strstr(line, again));
        assert_non_null(strstr(line, delays[i]));
    }
    release_stderr();
}

TEST(test_ends_of_the_process_are_told_ten_times_a_minute_at_most, set_up, tear_down)
{
    struct fixture *fixture = *state;
    unsigned told = 0;
    char line[256];

    catch_stderr();
    start(fixture, "");
    for (size_t i = 0; i < 12; i++) {
        wait_until(fixture, is_live);
        fixture->supervisor->backoff_ms = 0;
        kill(describe(fixture).pid, SIGKILL);
        while (describe(fixture).restarts == i)
            g_main_context_iteration(NULL, TRUE);
    }
    rewind(caught);
    while (fgets(line, sizeof line, caught))
        told += strstr(line, "starting it again") != NULL;
    assert_in_range(told, 1, LOG_LIMIT_A_MINUTE);
    release_stderr();
}

static bool is_flooded(struct fixture *fixture)
{
    return fixture->changes > 10 * LINK_TURN_MESSAGES;
}

static gboolean count(gpointer data)
{
    (*(unsigned *)data)++;
    return G_SOURCE_CONTINUE;
}

// Whatever else is due has its turn after each handful of messages.
TEST(test_a_flood_of_messages_leaves_the_main_loop_to_others, set_up, tear_down)
{
    struct fixture *fixture = *state;
    unsigned others = 0;

    start(fixture, "flood");
    wait_until(fixture, is_live);
    watch(fixture);
    wait_until(fixture, is_flooded);
    unsigned begin = fixture->changes, turns = 0;
    guint idle = g_idle_add_full(G_PRIORITY_DEFAULT, count, &others, NULL);
    while (fixture->changes < begin + 100 * LINK_TURN_MESSAGES) {
        g_main_context_iteration(NULL, TRUE);
        turns++;
    }
    g_source_remove(idle);
    assert_in_range(others, 100, turns);
}

TEST(test_a_silent_process_is_killed_and_replaced, set_up, tear_down)
{
    struct fixture *fixture = *state;

    start(fixture, "hang");
    wait_until(fixture, is_live);
    setenv("FAKE_CAMERA", "", 1);
    watch(fixture);
    wait_within(fixture, is_restarted, 4 * NS_PER_S, 7 * NS_PER_S);
    wait_until(fixture, has_frames);
}

// One turn of the main loop in which the machine stands still after the loop has looked for what
// there is to be read, and before it looks at the clock.
static void stand_still(gulong us)
{
    GMainContext *context = g_main_context_default();
    gint priority, timeout_ms;
    GPollFD fds[64];

    assert_true(g_main_context_acquire(context));
    g_main_context_prepare(context, &priority);
    gint count = g_main_context_query(context, G_MAXINT, &timeout_ms, fds, ARRAY_LENGTH(fds));
    assert_in_range(count, 1, ARRAY_LENGTH(fds));
    for (gint i = 0; i < count; i++)
        fds[i].revents = 0;
    g_usleep(us);
    g_main_context_check(context, G_MAXINT, fds, count);
    g_main_context_dispatch(context);
    g_main_context_release(context);
}

static bool has_changed(struct fixture *fixture)
{
    return fixture->changes > 0;
}

TEST(test_a_front_that_stood_still_hears_a_process_before_it_counts_as_silent, set_up, tear_down)
{
    struct fixture *fixture = *state;

    start(fixture, "");
    wait_until(fixture, is_live);
    stand_still(6 * 1000 * 1000);
    fixture->changes = 0;
    wait_until(fixture, has_changed); // by telemetry, or because it was killed
    assert_true(is_live(fixture));
    assert_false(is_restarted(fixture));
}

TEST(test_the_next_process_passes_over_an_encoder_that_hung_until_other_settings, set_up, tear_down)
{
    struct fixture *fixture = *state;

    start(fixture, "encoder-hung");
    wait_until(fixture, is_live);
    setenv("FAKE_CAMERA", "", 1);
    watch(fixture);
    wait_until(fixture, is_restarted);
    wait_until(fixture, has_frames);
    assert_int_equal(count_told(fixture, "pass-over 4", NULL), 1);
    assert_int_equal(describe(fixture).encoders_passed_over, 1 << CONFIG_ENCODER_V4L2);
    assert_int_equal(describe(fixture).encoder_hangs, 1);

    replace_process(fixture);
    wait_until(fixture, is_live);
    assert_int_equal(count_told(fixture, "pass-over 0", NULL), 2);
    assert_int_equal(describe(fixture).encoders_passed_over, 0);
}

TEST(test_an_incurable_fault_is_kept_and_not_retried_at_once, set_up, tear_down)
{
    struct fixture *fixture = *state;

    start(fixture, "fatal");
    wait_until(fixture, is_failed);
    assert_string_equal(describe(fixture).error, "the fake camera cannot go on");
    assert_int_equal(describe(fixture).pid, 0);
    assert_true(supervisor_is_settled(fixture->supervisor));
}

TEST(test_a_missing_program_is_an_error_of_the_start, set_up, tear_down)
{
    struct fixture *fixture = *state;

    strcpy(fixture->program, "/nonexistent/edged-camera");
    replace_process(fixture);
    assert_int_equal(supervisor_start(fixture->supervisor), -ENOENT);
    assert_string_equal(describe(fixture).state, "failed");
    assert_non_null(strstr(describe(fixture).error, "/nonexistent/edged-camera"));
}

TEST(test_a_stopped_process_ends_in_time_and_stays_away, set_up, tear_down)
{
    struct fixture *fixture = *state;

    start(fixture, "");
    wait_until(fixture, is_live);
    pid_t pid = describe(fixture).pid;
    supervisor_stop(fixture->supervisor);
    wait_within(fixture, is_stopped, 0, 1500 * NS_PER_MS);
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(describe(fixture).pid, 0);
}

TEST(test_a_process_that_does_not_listen_is_killed_on_stop, set_up, tear_down)
{
    struct fixture *fixture = *state;

    start(fixture, "hang");
    wait_until(fixture, is_live);
    watch(fixture);
    for (int i = 0; i < 10; i++) // it is told of the viewer, and hangs
        g_main_context_iteration(NULL, FALSE);
    supervisor_stop(fixture->supervisor);
    wait_within(fixture, is_stopped, 0, 1500 * NS_PER_MS);
}

TEST(test_other_settings_replace_the_process_without_counting_a_restart, set_up, tear_down)
{
    struct fixture *fixture = *state;

    start(fixture, "");
    wait_until(fixture, is_live);
    pid_t before = describe(fixture).pid;
    replace_process(fixture);
    watch(fixture);
    wait_until(fixture, has_frames);
    assert_int_not_equal(describe(fixture).pid, before);
    assert_int_equal(describe(fixture).restarts, 0);
}

int main(void)
{
    return run_unit_tests(NULL, NULL);
}
