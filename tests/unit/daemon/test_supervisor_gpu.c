// Supervision of a process whose GPU fails, and of one that gets other block sizes.
#include "tests/unit/daemon/supervised.h"

#include <errno.h>
#include <signal.h>

static bool has_gpu(struct fixture *fixture)
{
    return is_live(fixture) && strcmp(describe(fixture).telemetry->backend, "CUDA sm_87") == 0;
}

static bool has_cpu(struct fixture *fixture)
{
    return is_live(fixture) && strcmp(describe(fixture).telemetry->backend, "CPU") == 0;
}

static bool has_fault(struct fixture *fixture)
{
    return describe(fixture).gpu_faults > 0;
}

static bool has_two_faults(struct fixture *fixture)
{
    return describe(fixture).gpu_faults == 2;
}

static bool is_restarted_twice(struct fixture *fixture)
{
    return describe(fixture).restarts == 2;
}

static bool has_three_faults(struct fixture *fixture)
{
    return describe(fixture).gpu_faults == 3;
}

static bool is_configured_without_gpu(struct fixture *fixture)
{
    return count_told(fixture, "configure cpu 0x0 0x0 0x0", NULL) > 0;
}

static bool is_told_to_try(struct fixture *fixture)
{
    return count_told(fixture, "try-gpu auto", NULL) > 0;
}

static bool is_told_to_try_twice(struct fixture *fixture)
{
    return count_told(fixture, "try-gpu auto", NULL) == 2;
}

static bool is_told_blocks(struct fixture *fixture)
{
    return count_told(fixture, "reconfigure auto 32x8 0x0 64x4 rows 16", NULL) > 0;
}

static void fail_gpu(struct fixture *fixture)
{
    kill(describe(fixture).pid, SIGUSR1);
}

TEST(test_the_next_process_begins_on_the_cpu_while_the_old_one_still_hangs, set_up, tear_down)
{
    struct fixture *fixture = *state;
    pid_t last = 0;

    start(fixture, "gpu");
    watch(fixture);
    wait_until(fixture, has_gpu);
    pid_t lost = describe(fixture).pid;
    fail_gpu(fixture);
    wait_within(fixture, has_fault, 0, 200 * NS_PER_MS);
    pid_t next = describe(fixture).pid;
    assert_int_not_equal(next, 0);
    assert_int_not_equal(next, lost);
    wait_until(fixture, is_configured_without_gpu);
    assert_int_equal(count_told(fixture, "configure cpu 0x0 0x0 0x0", &last), 1);
    assert_int_equal(last, next);
    // Until the GPU is tried again, a second later, of which the process may tell late.
    if (strcmp(describe(fixture).gpu, "failed: the fake GPU fell off the bus") != 0)
        wait_until(fixture, is_told_to_try);
    wait_until(fixture, has_frames);
    assert_int_equal(describe(fixture).gpu_faults, 1);
    assert_int_equal(describe(fixture).restarts, 0);
    assert_int_equal(kill(lost, 0), -1); // killed and reaped
    assert_int_equal(errno, ESRCH);
}

TEST(test_the_gpu_is_tried_after_1_s_and_after_2_s, set_up, tear_down)
{
    struct fixture *fixture = *state;
    pid_t last = 0;

    start(fixture, "gpu");
    wait_until(fixture, has_gpu);
    int64_t failed_ns = clock_now_ns();
    fail_gpu(fixture);
    wait_until(fixture, has_fault);
    pid_t pid = describe(fixture).pid;
    wait_until(fixture, is_told_to_try);
    assert_lasted(failed_ns, 900 * NS_PER_MS, 1500 * NS_PER_MS);
    wait_until(fixture, has_gpu);
    assert_int_equal(count_told(fixture, "try-gpu auto", &last), 1);
    assert_int_equal(last, pid);
    assert_int_equal(describe(fixture).pid, pid);
    assert_string_equal(describe(fixture).gpu, "Fake GPU");

    failed_ns = clock_now_ns();
    fail_gpu(fixture);
    wait_until(fixture, has_two_faults);
    wait_until(fixture, is_told_to_try_twice);
    assert_lasted(failed_ns, 1900 * NS_PER_MS, 2500 * NS_PER_MS);
    wait_until(fixture, has_gpu);
    assert_int_equal(describe(fixture).restarts, 0);
}

static bool may_have_gpu_later(struct fixture *fixture)
{
    return has_cpu(fixture) && describe(fixture).telemetry->gpu_may_return;
}

TEST(test_a_gpu_that_is_full_is_tried_again_by_the_same_process, set_up, tear_down)
{
    struct fixture *fixture = *state;

    start(fixture, "gpu-full");
    wait_until(fixture, may_have_gpu_later);
    pid_t pid = describe(fixture).pid;
    wait_within(fixture, is_told_to_try, 500 * NS_PER_MS, 1300 * NS_PER_MS);
    wait_until(fixture, has_gpu);
    assert_int_equal(describe(fixture).pid, pid);
    assert_int_equal(describe(fixture).gpu_faults, 0);
    assert_int_equal(count_told(fixture, "try-gpu auto", NULL), 1);
}

TEST(test_a_process_that_dies_meanwhile_is_replaced_by_one_on_the_cpu, set_up, tear_down)
{
    struct fixture *fixture = *state;

    static condition *const faults[] = {has_fault, has_two_faults, has_three_faults};

    start(fixture, "gpu");
    for (size_t i = 0; i < ARRAY_LENGTH(faults); i++) {
        wait_until(fixture, has_gpu);
        fail_gpu(fixture);
        wait_until(fixture, faults[i]);
    }
    // After the third fault it is 4 s until the next try: time for two processes to begin.
    wait_until(fixture, has_cpu);
    unsigned before = count_told(fixture, "configure cpu 0x0 0x0 0x0", NULL);
    kill(describe(fixture).pid, SIGKILL);
    wait_until(fixture, is_restarted);
    wait_until(fixture, has_cpu);
    assert_int_equal(count_told(fixture, "configure cpu 0x0 0x0 0x0", NULL), before + 1);
    wait_until(fixture, has_gpu);
    assert_int_equal(count_told(fixture, "configure auto 0x0 0x0 0x0", NULL), 1);
}

TEST(test_a_process_that_dies_after_the_gpu_is_back_begins_on_it, set_up, tear_down)
{
    struct fixture *fixture = *state;

    start(fixture, "gpu");
    wait_until(fixture, has_gpu);
    fail_gpu(fixture);
    wait_until(fixture, is_told_to_try);
    wait_until(fixture, has_gpu);
    kill(describe(fixture).pid, SIGKILL);
    wait_until(fixture, is_restarted);
    wait_until(fixture, has_gpu);
    assert_int_equal(count_told(fixture, "configure auto 0x0 0x0 0x0", NULL), 2);
}

TEST(test_a_driver_that_kills_twice_is_left_alone_for_a_while, set_up, tear_down)
{
    struct fixture *fixture = *state;

    start(fixture, "gpu");
    wait_until(fixture, has_gpu);
    kill(describe(fixture).pid, SIGKILL);
    wait_until(fixture, is_restarted);
    wait_until(fixture, has_gpu);
    assert_int_equal(describe(fixture).gpu_faults, 0);
    kill(describe(fixture).pid, SIGKILL);
    wait_until(fixture, is_restarted_twice);
    assert_int_equal(describe(fixture).gpu_faults, 1);
    wait_until(fixture, is_configured_without_gpu);
    wait_until(fixture, is_told_to_try);
    wait_until(fixture, has_gpu);
}

TEST(test_deaths_on_the_cpu_are_plain_restarts, set_up, tear_down)
{
    struct fixture *fixture = *state;

    start(fixture, "");
    wait_until(fixture, has_cpu);
    kill(describe(fixture).pid, SIGKILL);
    wait_until(fixture, is_restarted);
    wait_until(fixture, has_cpu);
    kill(describe(fixture).pid, SIGKILL);
    wait_until(fixture, is_restarted_twice);
    wait_until(fixture, has_cpu);
    assert_int_equal(describe(fixture).gpu_faults, 0);
    assert_int_equal(count_told(fixture, "configure auto 0x0 0x0 0x0", NULL), 3);
}

TEST(test_the_fault_of_a_gpu_that_was_not_offered_is_a_plain_restart, set_up, tear_down)
{
    struct fixture *fixture = *state;

    _cleanup_(cleanup_config) struct config *config = parse("backend = \"cpu\"; " CAMERA);

    setenv("FAKE_CAMERA", "gpu", 1);
    supervisor_configure(fixture->supervisor, config, 0, &fixture->stream, CONFIG_COST_CAMERA);
    wait_until(fixture, has_cpu);
    fail_gpu(fixture);
    wait_until(fixture, is_restarted);
    assert_string_equal(describe(fixture).error,
                        "the camera process reported a GPU fault although it computes on the CPU");
    wait_until(fixture, has_cpu);
    assert_int_equal(describe(fixture).gpu_faults, 0);
}

TEST(test_other_settings_begin_on_the_gpu_again, set_up, tear_down)
{
    struct fixture *fixture = *state;

    start(fixture, "gpu");
    wait_until(fixture, has_gpu);
    fail_gpu(fixture);
    wait_until(fixture, has_fault);
    replace_process(fixture);
    wait_until(fixture, has_gpu);
    assert_int_equal(count_told(fixture, "try-gpu auto", NULL), 0);
    assert_int_equal(count_told(fixture, "configure auto 0x0 0x0 0x0", NULL), 2);
}

TEST(test_a_stopped_supervisor_starts_nothing_after_a_fault, set_up, tear_down)
{
    struct fixture *fixture = *state;

    start(fixture, "gpu");
    wait_until(fixture, has_gpu);
    fail_gpu(fixture);
    wait_until(fixture, has_fault);
    supervisor_stop(fixture->supervisor);
    wait_within(fixture, is_stopped, 0, 1500 * NS_PER_MS);
    assert_int_equal(describe(fixture).pid, 0);
}

TEST(test_other_blocks_reach_the_running_process_and_the_next, set_up, tear_down)
{
    static const char kernels[] = "kernels = { gradient = { rows = 16; block = [32, 8]; }; convert "
                                  "= { block = [64, 4]; }; };";
    struct fixture *fixture = *state;
    g_autofree char *text = g_strconcat(kernels, CAMERA, NULL);
    _cleanup_(cleanup_config) struct config *other = parse(text);
    pid_t told = 0;

    start(fixture, "gpu");
    wait_until(fixture, has_gpu);
    pid_t pid = describe(fixture).pid;
    supervisor_configure(fixture->supervisor, other, 0, &fixture->stream, CONFIG_COST_VIEW);
    wait_until(fixture, is_told_blocks);
    assert_int_equal(count_told(fixture, "reconfigure auto 32x8 0x0 64x4 rows 16", &told), 1);
    assert_int_equal(told, pid);
    assert_int_equal(describe(fixture).pid, pid);

    kill(pid, SIGKILL);
    wait_until(fixture, is_restarted);
    wait_until(fixture, has_gpu);
    assert_int_equal(count_told(fixture, "configure auto 32x8 0x0 64x4 rows 16", NULL), 1);
    assert_int_equal(count_told(fixture, "reconfigure auto 32x8 0x0 64x4 rows 16", NULL), 1);
}

int main(void)
{
    return run_unit_tests(NULL, NULL);
}
