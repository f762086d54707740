// Grids and the review of blocks, in numbers worked by hand from the limits NVIDIA documents.
#include "tests/unit/unit.h"

#include "config/base.h"
#include "kernels/gpu/gpu_block.h"

static void assert_grid(struct gpu_grid grid, unsigned x, unsigned y, unsigned z)
{
    assert_int_equal(grid.x, x);
    assert_int_equal(grid.y, y);
    assert_int_equal(grid.z, z);
}

TEST(test_a_grid_covers_the_picture_with_as_few_blocks_as_can_be)
{
    const struct gpu_tile tile = {8, 4};

    // 1920 / 8 = 240 tiles by 1080 / 4 = 270.
    assert_grid(gpu_grid_over(1920, 1080, tile, (struct config_block){32, 8, 0}), 8, 34, 1);
    assert_grid(gpu_grid_over(1920, 1080, tile, (struct config_block){240, 1, 0}), 1, 270, 1);
    assert_grid(gpu_grid_over(1, 1, tile, (struct config_block){1024, 1, 0}), 1, 1, 1);
    assert_grid(gpu_grid_over(9, 5, tile, (struct config_block){1, 1, 0}), 2, 2, 1);
    assert_grid(gpu_grid_over(7680, 4320, (struct gpu_tile){1, 1}, (struct config_block){1, 1, 0}),
                7680, 4320, 1);
}

TEST(test_rows_past_the_grids_limit_are_folded)
{
    const struct gpu_tile tile = {8, 1};

    assert_grid(gpu_grid_over(8, 65535, tile, (struct config_block){1, 1, 0}), 1, 65535, 1);
    assert_grid(gpu_grid_over(8, 65536, tile, (struct config_block){1, 1, 0}), 1, 32768, 2);
    assert_grid(gpu_grid_over(8, 200000, tile, (struct config_block){1, 1, 0}), 1, 50000, 4);
    assert_grid(gpu_grid_over(8, 200000, tile, (struct config_block){1, 4, 0}), 1, 50000, 1);
}

TEST(test_every_row_of_the_largest_picture_is_covered)
{
    const struct gpu_tile tile = {8, 2};
    struct gpu_grid grid =
        gpu_grid_over(UINT32_MAX, UINT32_MAX, tile, (struct config_block){1, 1, 0});

    assert_int_equal(grid.x, 536870912);
    assert_true(grid.y <= GPU_GRID_MAX && grid.z <= GPU_GRID_MAX);
    assert_true((uint64_t)grid.y * grid.z >= 2147483648);
}

// A multiprocessor, and a kernel on it.
struct device {
    unsigned threads, blocks, registers; // it has
    unsigned registers_a_thread;         // the kernel takes
};

static const struct device orin = {1536, 16, 65536, 40}, orin_full = {1536, 16, 65536, 64},
                           hopper = {2048, 32, 65536, 32};

// The CUDA programming guide's rule: warps of 32, by threads, blocks and registers.
static int resident(const void *context, unsigned threads)
{
    const struct device *device = context;
    unsigned warps = (threads + 31) / 32;
    unsigned by_threads = device->threads / 32 / warps;
    unsigned by_registers = device->registers / (device->registers_a_thread * 32) / warps;
    unsigned blocks = by_threads < by_registers ? by_threads : by_registers;

    return (int)(blocks < device->blocks ? blocks : device->blocks);
}

static bool review(const struct device *device, int x, int y, struct gpu_block_advice *ret_advice)
{
    return gpu_block_review((struct config_block){x, y, 0}, (struct config_block){32, 8, 0},
                            device->threads, resident, device, ret_advice);
}

TEST(test_blocks_that_fill_half_of_the_gpu_are_fine)
{
    struct gpu_block_advice advice;

    assert_false(review(&orin, 32, 8, &advice));
    assert_false(review(&orin, 128, 1, &advice));
    assert_false(review(&orin, 48, 1, &advice)); // 16 blocks of 48: exactly half
    assert_false(review(&hopper, 32, 1, &advice));
    assert_false(review(&hopper, 1, 1024, &advice));
}

TEST(test_small_blocks_are_told_what_they_waste_and_what_is_better)
{
    struct gpu_block_advice advice = {0};

    assert_true(review(&orin, 8, 1, &advice)); // 16 * 8 of 1536
    assert_int_equal(advice.percent, 8);
    assert_int_equal(advice.better.x, 32);
    assert_int_equal(advice.better.y, 8);
    assert_int_equal(advice.better_percent, 100); // 6 blocks of 256
    assert_true(review(&hopper, 8, 2, &advice));  // 32 * 16 of 2048
    assert_int_equal(advice.percent, 25);
    assert_int_equal(advice.better_percent, 100);
}

TEST(test_the_best_that_registers_allow_is_named)
{
    struct gpu_block_advice advice = {0};

    // 64 registers leave 32 warps of 48. 33 threads take 2 warps, 16 blocks of them: 34 %.
    assert_true(review(&orin_full, 33, 1, &advice));
    assert_int_equal(advice.percent, 34);
    assert_int_equal(advice.better.x, 32);
    assert_int_equal(advice.better.y, 8); // 4 blocks of 8 warps
    assert_int_equal(advice.better_percent, 66);
}

TEST(test_nothing_is_said_where_nothing_is_better_or_known)
{
    const struct device small = {2048, 32, 16384, 64}; // 256 threads at most, 12 %
    const struct device none = {2048, 0, 65536, 32};
    struct gpu_block_advice advice;

    assert_false(review(&small, 32, 8, &advice));
    assert_false(review(&none, 8, 1, &advice));
}

RUN_TESTS(NULL, NULL)
