// When a GPU is to blame, and when it is tried again.
#include "config/base.h"
#include "daemon/front/supervise/gpu_retry.h"
#include "tests/unit/unit.h"

#define AT(seconds) ((int64_t)((seconds)*1e9))

TEST(test_tries_come_after_1_s_doubling_up_to_60_s)
{
    static const unsigned row[] = {1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000};
    struct gpu_retry retry = {0};

    for (size_t i = 0; i < ARRAY_LENGTH(row); i++) {
        assert_int_equal(gpu_retry_fail_ms(&retry, AT(100)), row[i]);
    }
}

TEST(test_60_s_of_computing_forget_what_was)
{
    struct gpu_retry retry = {0};

    gpu_retry_fail_ms(&retry, AT(100));
    gpu_retry_note_backend(&retry, "CUDA sm_87", AT(101));
    gpu_retry_note_backend(&retry, "CUDA sm_87", AT(160));
    assert_int_equal(gpu_retry_fail_ms(&retry, AT(160.9)), 2000);
    gpu_retry_note_backend(&retry, "CUDA sm_87", AT(163));
    gpu_retry_note_backend(&retry, "CUDA sm_87", AT(223));
    assert_int_equal(gpu_retry_fail_ms(&retry, AT(223)), 1000);
    assert_int_equal(gpu_retry_fail_ms(&retry, AT(224)), 2000);
}

TEST(test_60_s_on_the_cpu_forget_nothing)
{
    struct gpu_retry retry = {0};

    gpu_retry_fail_ms(&retry, AT(100));
    gpu_retry_note_backend(&retry, "CUDA sm_87", AT(101));
    gpu_retry_note_backend(&retry, "CPU", AT(102));
    assert_int_equal(gpu_retry_fail_ms(&retry, AT(200)), 2000);
}

// 10 s is what a camera process gives the driver to open a GPU.
TEST(test_tries_in_vain_go_on_with_the_row_but_not_within_10_s)
{
    struct gpu_retry retry = {0};

    assert_int_equal(gpu_retry_fail_ms(&retry, AT(100)), 1000);
    for (int i = 0; i < 3; i++) { // 2, 4, 8 s of the row
        assert_in_range(gpu_retry_try_ms(&retry), 10001, 15000);
    }
    assert_int_equal(gpu_retry_try_ms(&retry), 16000);
    assert_int_equal(gpu_retry_try_ms(&retry), 32000);
    assert_int_equal(gpu_retry_try_ms(&retry), 60000);
    assert_int_equal(gpu_retry_try_ms(&retry), 60000);
    assert_int_equal(gpu_retry_fail_ms(&retry, AT(400)), 60000);
}

TEST(test_a_try_that_worked_does_not_lengthen_the_row)
{
    struct gpu_retry retry = {0};

    assert_int_equal(gpu_retry_fail_ms(&retry, AT(100)), 1000);
    gpu_retry_try_ms(&retry);
    gpu_retry_note_backend(&retry, "CUDA sm_87", AT(102));
    assert_int_equal(gpu_retry_fail_ms(&retry, AT(103)), 2000);
    gpu_retry_try_ms(&retry);
    gpu_retry_note_backend(&retry, "CUDA sm_87", AT(106));
    assert_int_equal(gpu_retry_fail_ms(&retry, AT(107)), 4000);
}

TEST(test_the_second_death_within_30_s_is_the_gpus)
{
    struct gpu_retry retry = {0};

    gpu_retry_begin(&retry, true);
    gpu_retry_note_backend(&retry, "CUDA sm_87", AT(100));
    assert_false(gpu_retry_note_death(&retry, true, AT(101)));
    gpu_retry_begin(&retry, true);
    gpu_retry_note_backend(&retry, "CUDA sm_87", AT(102));
    assert_true(gpu_retry_note_death(&retry, true, AT(130.9)));
}

// Telemetry ends when the lane has hung for 7 s, and silence is taken for death after 5 s.
TEST(test_a_driver_that_hangs_again_and_again_is_to_blame)
{
    struct gpu_retry retry = {0};

    gpu_retry_begin(&retry, true);
    gpu_retry_note_backend(&retry, "CUDA sm_87", AT(100.5));
    assert_false(gpu_retry_note_death(&retry, true, AT(113)));
    gpu_retry_begin(&retry, true);
    gpu_retry_note_backend(&retry, "CUDA sm_87", AT(114));
    assert_true(gpu_retry_note_death(&retry, true, AT(127)));
}

TEST(test_deaths_30_s_apart_are_nobodys)
{
    struct gpu_retry retry = {0};

    for (int i = 0; i < 5; i++) {
        gpu_retry_begin(&retry, true);
        gpu_retry_note_backend(&retry, "CUDA sm_87", AT(100 + 30 * i));
        assert_false(gpu_retry_note_death(&retry, true, AT(101 + 30 * i)));
    }
}

TEST(test_a_driver_that_kills_while_it_is_opened_is_to_blame)
{
    struct gpu_retry retry = {0};

    gpu_retry_begin(&retry, true);
    gpu_retry_note_backend(&retry, "", AT(100));
    assert_false(gpu_retry_note_death(&retry, true, AT(100.5)));
    gpu_retry_begin(&retry, true);
    assert_true(gpu_retry_note_death(&retry, true, AT(101)));
}

TEST(test_a_program_that_cannot_run_is_not_the_gpus)
{
    struct gpu_retry retry = {0};

    for (int i = 0; i < 3; i++) {
        gpu_retry_begin(&retry, true);
        assert_false(gpu_retry_note_death(&retry, false, AT(100 + i)));
    }
}

TEST(test_a_driver_that_ends_the_process_while_it_computes_is_to_blame)
{
    struct gpu_retry retry = {0};

    gpu_retry_begin(&retry, true);
    gpu_retry_note_backend(&retry, "CUDA sm_87", AT(100));
    assert_false(gpu_retry_note_death(&retry, false, AT(101)));
    gpu_retry_begin(&retry, true);
    gpu_retry_note_backend(&retry, "CUDA sm_87", AT(102));
    assert_true(gpu_retry_note_death(&retry, false, AT(103)));
}

TEST(test_deaths_on_the_cpu_are_not_the_gpus)
{
    struct gpu_retry retry = {0};

    for (int i = 0; i < 3; i++) { // not allowed to use it
        gpu_retry_begin(&retry, false);
        assert_false(gpu_retry_note_death(&retry, true, AT(100 + i)));
    }
    for (int i = 0; i < 3; i++) { // there is none
        gpu_retry_begin(&retry, true);
        gpu_retry_note_backend(&retry, "CPU", AT(103 + i));
        assert_false(gpu_retry_note_death(&retry, true, AT(103 + i)));
    }
}

TEST(test_blame_is_laid_once_for_two_deaths)
{
    struct gpu_retry retry = {0};

    gpu_retry_begin(&retry, true);
    assert_false(gpu_retry_note_death(&retry, true, AT(100)));
    gpu_retry_begin(&retry, true);
    assert_true(gpu_retry_note_death(&retry, true, AT(101)));
    gpu_retry_fail_ms(&retry, AT(101));
    gpu_retry_note_backend(&retry, "CUDA sm_87", AT(103));
    assert_false(gpu_retry_note_death(&retry, true, AT(104)));
}

RUN_TESTS(NULL, NULL)
