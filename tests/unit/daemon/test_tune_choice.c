// The blocks worth writing after measurements: those that are faster by more than the noise, and no
// more.
#include "tests/unit/unit.h"

#include "daemon/ctl/bench/tune.h"

// One sweep of two shapes: the one in use, and another.
static struct sweep sweep_of(enum config_kernel kernel, enum config_memory memory, double in_use_us,
                             double other_us, double path_us)
{
    struct sweep sweep = {.kernel = kernel, .memory = memory, .in_use = {32, 8, 0}, .count = 2};

    sweep.shapes[0] = (struct sweep_shape){{128, 1, 0}, {other_us, 1}, 100};
    sweep.shapes[1] = (struct sweep_shape){{32, 8, 0}, {in_use_us, 1}, 100};
    sweep.path = (struct timing){path_us, 1};
    return sweep;
}

static bool choose(struct sweep *sweeps, size_t count,
                   struct config_block blocks[CONFIG_KERNEL_COUNT])
{
    return tune_choose(sweeps, count, CONFIG_MEMORY_REGISTERED, blocks);
}

static enum config_memory choose_memory(struct sweep *sweeps, size_t count)
{
    return tune_choose_memory(sweeps, count, CONFIG_MEMORY_REGISTERED);
}

static void assert_block(struct config_block block, int x, int y)
{
    assert_int_equal(block.x, x);
    assert_int_equal(block.y, y);
}

TEST(test_a_faster_block_is_chosen)
{
    struct sweep sweep = sweep_of(CONFIG_KERNEL_GRAY, CONFIG_MEMORY_REGISTERED, 20, 15, 40);
    struct config_block blocks[CONFIG_KERNEL_COUNT] = {0};

    assert_true(choose(&sweep, 1, blocks));
    assert_block(blocks[CONFIG_KERNEL_GRAY], 128, 1);
    assert_block(blocks[CONFIG_KERNEL_GRADIENT], 0, 0);
}

TEST(test_a_block_within_the_noise_is_not)
{
    struct sweep sweep = sweep_of(CONFIG_KERNEL_GRAY, CONFIG_MEMORY_REGISTERED, 20, 19.2, 40);
    struct config_block blocks[CONFIG_KERNEL_COUNT] = {[CONFIG_KERNEL_GRADIENT] = {64, 2, 0}};

    assert_false(choose(&sweep, 1, blocks));
    assert_block(blocks[CONFIG_KERNEL_GRAY], 0, 0);
    assert_block(blocks[CONFIG_KERNEL_GRADIENT], 64, 2);
}

// 20 + 20 in use, 10 + 40 in the other.
TEST(test_views_of_one_kernel_are_added_up)
{
    struct sweep sweeps[] = {
        sweep_of(CONFIG_KERNEL_GRADIENT, CONFIG_MEMORY_REGISTERED, 20, 10, 40),
        sweep_of(CONFIG_KERNEL_GRADIENT, CONFIG_MEMORY_REGISTERED, 20, 40, 40),
    };
    struct config_block blocks[CONFIG_KERNEL_COUNT] = {0};

    assert_false(choose(sweeps, 2, blocks));
    sweeps[1].shapes[0].time.median = 22;
    assert_true(choose(sweeps, 2, blocks));
    assert_block(blocks[CONFIG_KERNEL_GRADIENT], 128, 1);
}

TEST(test_memory_is_chosen_where_whole_frames_are_clearly_faster)
{
    struct sweep sweeps[] = {
        sweep_of(CONFIG_KERNEL_GRADIENT, CONFIG_MEMORY_REGISTERED, 20, 10, 40),
        sweep_of(CONFIG_KERNEL_GRADIENT, CONFIG_MEMORY_MANAGED, 20, 30, 39),
    };

    assert_int_equal(choose_memory(sweeps, 2), CONFIG_MEMORY_REGISTERED);
    sweeps[1].path.median = 30;
    assert_int_equal(choose_memory(sweeps, 2), CONFIG_MEMORY_MANAGED);
    // Blocks are still those for the memory in use.
    struct config_block blocks[CONFIG_KERNEL_COUNT] = {0};
    assert_true(choose(sweeps, 2, blocks));
    assert_block(blocks[CONFIG_KERNEL_GRADIENT], 128, 1);
}

// A kind that lacks the times of one view is not compared.
TEST(test_memory_of_an_interrupted_sweep_is_not_chosen)
{
    struct sweep sweeps[] = {
        sweep_of(CONFIG_KERNEL_GRADIENT, CONFIG_MEMORY_REGISTERED, 20, 20, 40),
        sweep_of(CONFIG_KERNEL_GRADIENT, CONFIG_MEMORY_PINNED, 20, 20, 0),
    };

    assert_int_equal(choose_memory(sweeps, 2), CONFIG_MEMORY_REGISTERED);
    assert_int_equal(choose_memory(NULL, 0), CONFIG_MEMORY_REGISTERED);
}

// Times of [32, 8] and [128, 1] with 4 rows, in use with [32, 8], and with 8.
static struct sweep sweep_with_rows(double used_us, double rows_us, double block_us, double both_us)
{
    struct sweep sweep = {.kernel = CONFIG_KERNEL_GRADIENT,
                          .memory = CONFIG_MEMORY_REGISTERED,
                          .in_use = {32, 8, 4},
                          .count = 4};

    sweep.shapes[0] = (struct sweep_shape){{32, 8, 4}, {used_us, 1}, 100};
    sweep.shapes[1] = (struct sweep_shape){{32, 8, 8}, {rows_us, 1}, 100};
    sweep.shapes[2] = (struct sweep_shape){{128, 1, 4}, {block_us, 1}, 100};
    sweep.shapes[3] = (struct sweep_shape){{128, 1, 8}, {both_us, 1}, 100};
    return sweep;
}

static void assert_choice(struct sweep sweep, int x, int y, int rows)
{
    struct config_block blocks[CONFIG_KERNEL_COUNT] = {0};

    assert_int_equal(choose(&sweep, 1, blocks), x > 0 || rows > 0);
    assert_block(blocks[CONFIG_KERNEL_GRADIENT], x, y);
    assert_int_equal(blocks[CONFIG_KERNEL_GRADIENT].rows, rows);
}

TEST(test_rows_are_chosen_alone_or_with_a_block_by_what_each_gains)
{
    assert_choice(sweep_with_rows(20, 15, 20, 20), 0, 0, 8);
    assert_choice(sweep_with_rows(20, 20, 15, 20), 128, 1, 0);
    assert_choice(sweep_with_rows(20, 20, 20, 15), 128, 1, 8);
    assert_choice(sweep_with_rows(20, 15, 15, 10), 128, 1, 8);
}

TEST(test_what_gains_no_more_than_the_noise_beside_the_other_is_left_alone)
{
    assert_choice(sweep_with_rows(20, 15, 20, 14.5), 0, 0, 8);
    assert_choice(sweep_with_rows(20, 20, 15, 14.5), 128, 1, 0);
    assert_choice(sweep_with_rows(20, 19.5, 19.5, 19.2), 0, 0, 0);
}

TEST(test_a_choice_keeps_what_the_configuration_says_beside_it)
{
    struct sweep sweep = sweep_with_rows(20, 15, 20, 20);
    struct config_block blocks[CONFIG_KERNEL_COUNT] = {{32, 8, 4}};

    assert_true(choose(&sweep, 1, blocks));
    assert_block(blocks[CONFIG_KERNEL_GRADIENT], 32, 8);
    assert_int_equal(blocks[CONFIG_KERNEL_GRADIENT].rows, 8);
}

RUN_TESTS(NULL, NULL)
