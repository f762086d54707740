// A GPU that comes late, is tried again, given up or lost.
#include "tests/unit/daemon/played_driver.h"

TEST(test_a_driver_that_does_not_answer_is_waited_for_10_s, setup, teardown)
{
    struct compute *compute = make(CONFIG_BACKEND_AUTO, CONFIG_MEMORY_AUTO);
    struct compute_means means;
    int64_t begun = clock_now_ns();

    driver.hangs = true;
    compute_start(compute);
    sem_wait(&driver.entered);
    assert_false(compute_ask(compute, begun + 9 * NS_PER_S, &means));
    assert_status(compute, "", "");
    assert_true(compute_ask(compute, clock_now_ns() + 10 * NS_PER_S, &means));
    assert_null(means.gpu);
    assert_computes_on_cpu(compute, "the GPU driver did not answer within 10 s");
    assert_int_equal(sem_trywait(&decisions), 0);
    assert_log("edged: front: the GPU driver did not answer within 10 s, using the CPU\n");

    // While the thread hangs the process cannot be wound up, and no second one goes after it.
    assert_int_equal(compute_wait(compute, clock_now_ns()), -ETIMEDOUT);
    compute_try(compute, CONFIG_BACKEND_CUDA);
    assert_int_equal(driver.opened, 1);

    // What comes late is given back; the next try is a new one.
    sem_post(&driver.answer);
    settle(compute);
    assert_int_equal(driver.gpus, 0);
    assert_int_equal(driver.memories, 0);
    assert_computes_on_cpu(compute, "the GPU driver did not answer within 10 s");
    driver.hangs = false;
    compute_try(compute, CONFIG_BACKEND_AUTO);
    settle(compute);
    assert_computes_on_gpu(compute, "registered");
    compute_free(compute);
}

TEST(test_a_failure_that_comes_late_changes_nothing, setup, teardown)
{
    struct compute *compute = make(CONFIG_BACKEND_AUTO, CONFIG_MEMORY_AUTO);
    struct compute_means means;

    driver.hangs = true;
    driver.open_result = -EIO;
    driver.open_error = "late";
    compute_start(compute);
    assert_true(compute_ask(compute, clock_now_ns() + 10 * NS_PER_S, &means));
    sem_post(&driver.answer);
    settle(compute);
    assert_computes_on_cpu(compute, "the GPU driver did not answer within 10 s");
    assert_log("edged: front: the GPU driver did not answer within 10 s, using the CPU\n");
    compute_free(compute);
}

TEST(test_the_cpu_computes_until_a_tried_gpu_is_open, setup, teardown)
{
    struct compute *compute = start(CONFIG_BACKEND_CPU, CONFIG_MEMORY_PINNED);

    driver.hangs = true;
    driver.kind = CONFIG_MEMORY_PINNED;
    compute_try(compute, CONFIG_BACKEND_AUTO);
    compute_try(compute, CONFIG_BACKEND_AUTO);
    assert_computes_on_cpu(compute, "backend = \"cpu\"");
    sem_post(&driver.answer);
    settle(compute);
    assert_computes_on_gpu(compute, "pinned");
    compute_try(compute, CONFIG_BACKEND_AUTO);
    settle(compute);
    assert_int_equal(driver.opened, 1);
    compute_free(compute);
}

TEST(test_a_try_that_fails_is_told_once_for_each_reason, setup, teardown)
{
    struct compute *compute = start(CONFIG_BACKEND_CPU, CONFIG_MEMORY_AUTO);

    driver.open_result = -EIO;
    driver.open_error = "the GPU fell off the bus";
    for (int i = 0; i < 3; i++) {
        compute_try(compute, CONFIG_BACKEND_CUDA);
        settle(compute);
    }
    assert_int_equal(driver.opened, 3);
    assert_computes_on_cpu(compute, "the GPU fell off the bus");
    assert_log("edged: front: backend = \"cpu\", using the CPU\n"
               "edged: warning: front: backend = \"cuda\": the GPU fell off the bus, using the "
               "CPU\n");
    compute_free(compute);
}

TEST(test_a_gpu_given_up_is_kept_and_can_be_tried_again, setup, teardown)
{
    struct compute *compute = start(CONFIG_BACKEND_AUTO, CONFIG_MEMORY_AUTO);

    compute_give_up(compute, "out of memory");
    assert_computes_on_cpu(compute, "out of memory");
    assert_int_equal(driver.gpus, 1); // frames in its memory may still be out
    assert_log(FACTS "edged: front: out of memory, using the CPU\n");
    compute_try(compute, CONFIG_BACKEND_AUTO);
    assert_computes_on_gpu(compute, "registered");
    assert_int_equal(driver.opened, 1);
    compute_free(compute);
}

TEST(test_a_lost_gpu_is_named_and_not_tried_again, setup, teardown)
{
    struct compute *compute = start(CONFIG_BACKEND_AUTO, CONFIG_MEMORY_AUTO);
    struct compute_means means;

    assert_true(compute_ask(compute, clock_now_ns(), &means));
    compute_lose(compute, "an illegal memory access");
    assert_true(gpu_is_lost(means.gpu));
    assert_status(compute, "", "an illegal memory access");
    compute_try(compute, CONFIG_BACKEND_AUTO);
    assert_int_equal(driver.opened, 1);
    compute_free(compute);
}

TEST(test_a_gpu_that_ends_no_self_test_is_left_alone, setup, teardown)
{
    struct link_telemetry telemetry;

    driver.selftest_result = -ETIMEDOUT;
    driver.open_error = "self-test \"pi\": the GPU is not done in time";
    struct compute *compute = start(CONFIG_BACKEND_AUTO, CONFIG_MEMORY_AUTO);
    assert_computes_on_cpu(compute, "self-test \"pi\": the GPU is not done in time");
    assert_true(compute_has_lost(compute));
    compute_describe(compute, &telemetry);
    assert_false(telemetry.gpu_may_return);
    compute_try(compute, CONFIG_BACKEND_AUTO);
    settle(compute);
    assert_int_equal(driver.opened, 1);
    compute_free(compute);
}

RUN_TESTS(NULL, NULL)
