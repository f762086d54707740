// The shapes of a sweep: enough of them, all legal, each once, those in question among them.
#include "tests/unit/unit.h"

#include "daemon/ctl/bench/shapes.h"

static const struct config_block none = {0, 0, 0};

static bool contains(const struct config_block *shapes, size_t count, int x, int y)
{
    for (size_t i = 0; i < count; i++) {
        if (shapes[i].x == x && shapes[i].y == y) {
            return true;
        }
    }
    return false;
}

TEST(test_a_sweep_has_30_to_60_shapes_of_every_kind)
{
    struct config_block shapes[SHAPES_MAX];
    size_t count = shapes_list(1024, false, none, none, shapes);
    static const int wanted[][2] = {{1024, 1}, {1, 1024}, {32, 32}, {32, 8}, {128, 1}, {96, 1},
                                    {192, 2},  {8, 8},    {16, 16}, {32, 1}, {4, 256}};

    assert_in_range(count, 30, 60);
    for (size_t i = 0; i < ARRAY_LENGTH(wanted); i++) {
        assert_true(contains(shapes, count, wanted[i][0], wanted[i][1]));
    }
}

TEST(test_a_quick_sweep_has_a_dozen_shapes)
{
    struct config_block shapes[SHAPES_MAX];

    assert_int_equal(shapes_list(1024, true, none, none, shapes), 12);
}

TEST(test_no_shape_has_more_threads_than_the_kernel_takes)
{
    static const unsigned limits[] = {1, 32, 63, 64, 256, 640, 1024};
    struct config_block shapes[SHAPES_MAX];

    for (size_t i = 0; i < ARRAY_LENGTH(limits); i++) {
        size_t count = shapes_list(limits[i], false, none, none, shapes);

        for (size_t j = 0; j < count; j++) {
            assert_in_range(shapes[j].x * shapes[j].y, 1, limits[i]);
        }
        assert_true(limits[i] < 32 || count > 0);
    }
}

TEST(test_each_shape_stands_once)
{
    const struct config_block in_use = {32, 8, 0}, own = {128, 1, 0};
    struct config_block shapes[SHAPES_MAX];
    size_t count = shapes_list(1024, false, in_use, own, shapes);

    for (size_t i = 0; i < count; i++) {
        assert_false(contains(&shapes[i + 1], count - i - 1, shapes[i].x, shapes[i].y));
    }
}

TEST(test_the_shape_in_use_is_tried_however_odd_it_is)
{
    struct config_block shapes[SHAPES_MAX];
    size_t count = shapes_list(1024, true, (struct config_block){17, 3, 0}, none, shapes);

    assert_int_equal(count, 13);
    assert_true(contains(shapes, count, 17, 3));
}

static bool contains_rows(const struct config_block *shapes, size_t count, int x, int rows)
{
    for (size_t i = 0; i < count; i++) {
        if (shapes[i].x == x && shapes[i].rows == rows) {
            return true;
        }
    }
    return false;
}

TEST(test_all_shapes_have_the_rows_in_use)
{
    const struct config_block in_use = {32, 8, 5}, own = {128, 1, 4};
    struct config_block shapes[SHAPES_MAX];
    size_t count = shapes_list(1024, false, in_use, own, shapes);

    for (size_t i = 0; i < count; i++) {
        assert_int_equal(shapes[i].rows, 5);
    }
}

TEST(test_the_best_shapes_are_tried_with_every_number_of_rows_once)
{
    static const int rows[] = {2, 4, 8, 16, 32};
    const struct config_block best[] = {{64, 2, 5}, {128, 1, 5}, {64, 2, 5}};
    struct config_block shapes[ARRAY_LENGTH(best) * SHAPES_ROWS_MAX];
    size_t count = shapes_list_rows(best, ARRAY_LENGTH(best), 16, shapes);

    assert_int_equal(count, 2 * 6); // 2, 4, 8, 16, 32, and 5
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        assert_true(contains_rows(shapes, count, 64, rows[i]));
        assert_true(contains_rows(shapes, count, 128, rows[i]));
    }
    assert_true(contains_rows(shapes, count, 64, 5));
    assert_true(contains_rows(shapes, count, 128, 5));
    assert_int_equal(shapes_list_rows(best, 1, 10, shapes), 7);
    assert_true(contains_rows(shapes, 7, 64, 10));
}

RUN_TESTS(NULL, NULL)
