// Launches, refusals and the rows a thread makes, on a driver of this test's own.
#include "tests/unit/unit.h"

#include "tests/unit/kernels/gpu_kernel_bed.h"

TEST(test_a_launch_covers_the_picture_in_the_gpus_own_block, setup)
{
    struct gpu_kernel integrated;

    assert_int_equal(run(*state, NULL), 0);
    assert_launched(0, 128, 1);
    assert_int_equal(fake.launches[0].grid.x, 2); // 240 tiles
    assert_int_equal(fake.launches[0].grid.y, 270);
    assert_int_equal(fake.launches[0].grid.z, 1);
    fake.info.integrated = true;
    assert_int_equal(make(&integrated), 0);
    assert_int_equal(run(&integrated, NULL), 0);
    assert_launched(1, 32, 8);
    gpu_kernel_leave(&integrated);
    assert_int_equal(gpu_kernel_init(&integrated, NULL, CONFIG_KERNEL_GRADIENT, "gradient_no",
                                     (struct gpu_tile){8, 4}, 1920, NULL),
                     -ENOENT);
}

TEST(test_the_gpus_own_block_is_as_wide_as_fits_the_picture, setup)
{
    static const struct {
        uint32_t width;
        int x, y;
    } cases[] = {{7680, 64, 2}, {3840, 32, 4},  {1920, 128, 1}, {1280, 32, 4},
                 {1025, 32, 4}, {1024, 128, 1}, {512, 64, 2},   {1, 32, 4}};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct gpu_kernel kernel;

        assert_int_equal(gpu_kernel_init(&kernel, NULL, CONFIG_KERNEL_GRADIENT,
                                         "gradient_planar_l2_full", (struct gpu_tile){8, 4},
                                         cases[i].width, NULL),
                         0);
        assert_int_equal(kernel.block.x, cases[i].x);
        assert_int_equal(kernel.block.y, cases[i].y);
        assert_int_equal(kernel.block.rows, 4);
    }
}

TEST(test_a_refusal_that_no_other_block_cures_is_an_error, setup)
{
    struct error error = {0};

    fake.results[0] = 701;
    assert_int_equal(run(*state, &error), -EINVAL);
    assert_int_equal(fake.count, 1);
    assert_non_null(strstr(error.text, "gradient"));
    set(32, 32);
    fake.results[1] = fake.results[2] = 701;
    assert_int_equal(run(*state, &error), -EINVAL);
    assert_int_equal(fake.count, 3);
}

TEST(test_a_lost_context_is_no_refusal, setup)
{
    set(32, 32);
    fake.results[0] = 700;
    assert_int_equal(run(*state, NULL), -EIO);
    assert_int_equal(fake.count, 1);
    assert_no_complaint();
}

static int setup_rows(void **state)
{
    int r = setup(state);

    ((struct gpu_kernel *)*state)->rows_vary = true;
    return r;
}

// The kernel is told the rows, and the grid is made for them.
static void assert_rows(unsigned i, unsigned rows, unsigned grid_x, unsigned grid_y)
{
    assert_true(i < fake.count);
    assert_int_equal(fake.launches[i].parameters.job.rows, rows);
    assert_int_equal(fake.launches[i].grid.x, grid_x);
    assert_int_equal(fake.launches[i].grid.y, grid_y);
}

TEST(test_rows_a_thread_change_with_the_next_launch_and_go_back_to_the_gpus_own, setup_rows)
{
    set_rows(32, 8, 16);
    assert_int_equal(run(*state, NULL), 0);
    set_rows(0, 0, 2);
    assert_int_equal(run(*state, NULL), 0);
    set_rows(0, 0, 0);
    assert_int_equal(run(*state, NULL), 0);
    assert_launched(0, 32, 8);
    assert_rows(0, 16, 8, 9); // 240 tiles in blocks of 32, 68 tiles of 16 rows in blocks of 8
    assert_launched(1, 128, 1);
    assert_rows(1, 2, 2, 540);
    assert_launched(2, 128, 1);
    assert_rows(2, 4, 2, 270);
    assert_no_complaint();
}

TEST(test_a_kernel_without_the_choice_keeps_its_rows, setup)
{
    set_rows(128, 1, 16);
    assert_int_equal(run(*state, NULL), 0);
    assert_rows(0, 4, 2, 270);
}

TEST(test_rows_are_rolled_back_together_with_the_block, setup_rows)
{
    struct error why = {0};

    set_rows(64, 4, 2);
    assert_int_equal(run(*state, NULL), 0);
    set_rows(32, 32, 8);
    fake.results[1] = 701;
    assert_int_equal(run(*state, NULL), 0);
    assert_launched(1, 32, 32);
    assert_rows(1, 8, 8, 5);
    assert_launched(2, 64, 4);
    assert_rows(2, 2, 4, 135);
    assert_true(gpu_take_complaint(NULL, &why));
    assert_non_null(strstr(why.text, "kernels.gradient.block = [32, 32] with rows = 8, back to "
                                     "[64, 4] with rows = 2: the launch was refused: "));
    set_rows(64, 4, 32);
    fake.results[3] = 701;
    assert_int_equal(run(*state, NULL), 0);
    assert_rows(3, 32, 4, 9);
    assert_rows(4, 2, 4, 135);
    assert_true(gpu_take_complaint(NULL, &why));
    assert_non_null(strstr(why.text, "kernels.gradient.rows = 32, back to 2: "));
}

TEST(test_rows_stay_when_a_block_is_illegal, setup_rows)
{
    set_rows(64, 2, 8);
    set_rows(64, 32, 16);
    assert_int_equal(run(*state, NULL), 0);
    assert_launched(0, 64, 2);
    assert_rows(0, 8, 4, 68);
}

RUN_TESTS(NULL, NULL)
