// The shapes of a sweep: enough of them, all legal, each once, those in question among them.
#include "tests/unit/unit.h"

#include "daemon/ctl/shapes.h"

static const struct config_block none = {0, 0};

static bool contains(const struct config_block *shapes, size_t count, int x, int y)
{
    for (size_t i = 0; i < count; i++) {
        if (shapes[i].x == x && shapes[i].y == y) {
            return true;
        }
    }
    return false;
}

static void test_a_sweep_has_30_to_60_shapes_of_every_kind(void **state)
{
    struct config_block shapes[SHAPES_MAX];
    size_t count = shapes_list(1024, false, none, none, shapes);
    static const int wanted[][2] = {{1024, 1}, {1, 1024}, {32, 32}, {32, 8}, {128, 1}, {96, 1},
                                    {192, 2},  {8, 8},    {16, 16}, {32, 1}, {4, 256}};

    (void)state;
    assert_in_range(count, 30, 60);
    for (size_t i = 0; i < ARRAY_LENGTH(wanted); i++) {
        assert_true(contains(shapes, count, wanted[i][0], wanted[i][1]));
    }
}

static void test_a_quick_sweep_has_a_dozen_shapes(void **state)
{
    struct config_block shapes[SHAPES_MAX];

    (void)state;
    assert_int_equal(shapes_list(1024, true, none, none, shapes), 12);
}

static void test_no_shape_has_more_threads_than_the_kernel_takes(void **state)
{
    static const unsigned limits[] = {1, 32, 63, 64, 256, 640, 1024};
    struct config_block shapes[SHAPES_MAX];

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(limits); i++) {
        size_t count = shapes_list(limits[i], false, none, none, shapes);

        for (size_t j = 0; j < count; j++) {
            assert_in_range(shapes[j].x * shapes[j].y, 1, limits[i]);
        }
        assert_true(limits[i] < 32 || count > 0);
    }
}

static void test_each_shape_stands_once(void **state)
{
    const struct config_block in_use = {32, 8}, own = {128, 1};
    struct config_block shapes[SHAPES_MAX];
    size_t count = shapes_list(1024, false, in_use, own, shapes);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        assert_false(contains(&shapes[i + 1], count - i - 1, shapes[i].x, shapes[i].y));
    }
}

static void test_the_shape_in_use_is_tried_however_odd_it_is(void **state)
{
    struct config_block shapes[SHAPES_MAX];
    size_t count = shapes_list(1024, true, (struct config_block){17, 3}, none, shapes);

    (void)state;
    assert_int_equal(count, 13);
    assert_true(contains(shapes, count, 17, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sweep_has_30_to_60_shapes_of_every_kind),
        cmocka_unit_test(test_a_quick_sweep_has_a_dozen_shapes),
        cmocka_unit_test(test_no_shape_has_more_threads_than_the_kernel_takes),
        cmocka_unit_test(test_each_shape_stands_once),
        cmocka_unit_test(test_the_shape_in_use_is_tried_however_odd_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
