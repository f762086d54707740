// Blocks that change, what is said about them, and who has them, on a driver of this test's own.
#include "tests/unit/unit.h"

#include "tests/unit/kernels/gpu_kernel_bed.h"

TEST(test_a_block_changes_with_the_next_launch_and_goes_back_to_the_gpus_own, setup)
{
    set(32, 8);
    assert_int_equal(run(*state, NULL), 0);
    set(0, 0);
    assert_int_equal(run(*state, NULL), 0);
    assert_launched(0, 32, 8);
    assert_launched(1, 128, 1);
    assert_no_complaint();
}

TEST(test_an_illegal_block_is_named_with_its_key_and_changes_nothing, setup)
{
    struct error error = {0};

    set(64, 2);
    set(64, 32);
    assert_true(gpu_take_complaint(NULL, &error));
    assert_string_equal(error.text, "kernels.gradient.block = [64, 32]: at most 1024 threads, "
                                    "keeping the one before");
    assert_int_equal(run(*state, NULL), 0);
    assert_launched(0, 64, 2);
}

TEST(test_a_refused_block_is_rolled_back_and_told_once, setup)
{
    struct error why = {0};

    set(64, 4);
    assert_int_equal(run(*state, NULL), 0);
    set(32, 32);
    fake.results[1] = 701;
    assert_int_equal(run(*state, NULL), 0);
    assert_launched(1, 32, 32);
    assert_launched(2, 64, 4);
    assert_true(gpu_take_complaint(NULL, &why));
    assert_string_equal(why.text,
                        "kernels.gradient.block = [32, 32], back to [64, 4]: the launch was "
                        "refused: too many resources (CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701)");
    assert_no_complaint();
    assert_int_equal(run(*state, NULL), 0);
    assert_launched(3, 64, 4);
    assert_int_equal(fake.count, 4);
}

TEST(test_a_first_block_that_is_refused_gives_way_to_the_gpus_own, setup)
{
    struct error why;

    set(32, 32);
    fake.results[0] = 1;
    assert_int_equal(run(*state, NULL), 0);
    assert_launched(1, 128, 1);
    assert_true(gpu_take_complaint(NULL, &why));
}

TEST(test_a_small_block_warns_once_with_a_better_one, setup)
{
    struct error text = {0};

    set(8, 1); // 32 blocks of 8 threads of 2048
    assert_true(gpu_take_complaint(NULL, &text));
    assert_string_equal(text.text, "kernels.gradient.block = [8, 1]: at most 12% of the GPU's "
                                   "threads can be busy; [128, 1] would allow 100%");
    assert_no_complaint();
    set(8, 1);
    assert_no_complaint();
    set(32, 1);
    set(8, 1);
    set(32, 8);
    assert_no_complaint();
    set(8, 1);
    set(0, 0);
    assert_no_complaint();
}

TEST(test_a_kernel_that_joins_later_has_the_block_of_its_group, setup)
{
    struct gpu_kernel later;

    set(64, 2);
    assert_int_equal(make(&later), 0);
    assert_int_equal(run(&later, NULL), 0);
    assert_launched(0, 64, 2);
    gpu_kernel_leave(&later);
    set(32, 2);
    assert_int_equal(later.block.x, 64);
    assert_no_complaint();
}

TEST(test_a_kernel_that_joins_an_illegal_block_keeps_the_gpus_own, setup)
{
    struct gpu_kernel later;
    struct error text = {0};

    gpu_kernel_leave(*state);
    set(64, 32);
    for (int i = 0; i < 2; i++) { // told once
        assert_int_equal(make(&later), 0);
        assert_int_equal(run(&later, NULL), 0);
        assert_launched((unsigned)i, 128, 1);
        gpu_kernel_leave(&later);
    }
    assert_true(gpu_take_complaint(NULL, &text));
    assert_string_equal(text.text, "kernels.gradient.block = [64, 32]: at most 1024 threads, "
                                   "using the one chosen for this GPU");
    assert_no_complaint();
}

TEST(test_a_kernel_that_joins_after_a_refusal_has_the_block_before, setup)
{
    struct gpu_kernel later;

    set(64, 4);
    assert_int_equal(run(*state, NULL), 0);
    set(32, 32);
    fake.results[1] = 701;
    assert_int_equal(run(*state, NULL), 0);
    assert_int_equal(make(&later), 0);
    assert_int_equal(run(&later, NULL), 0);
    assert_launched(3, 64, 4);
    gpu_kernel_leave(&later);
}

RUN_TESTS(NULL, NULL)
