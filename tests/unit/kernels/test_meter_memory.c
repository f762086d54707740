// Without memory there is no meter, and nothing leaks: each allocation fails in turn. The sources
// are compiled in here with an allocator that fails on demand.
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static long allocations_left; // until one fails; negative: none fails

static void *fail_calloc(size_t count, size_t size)
{
    return allocations_left >= 0 && allocations_left-- == 0 ? NULL : calloc(count, size);
}

#undef calloc
#define calloc fail_calloc

#include "kernels/events/meter.c"

TEST(test_each_failing_allocation_is_enomem)
{
    struct config_point corners[] = {{0, 0}, {1, 0}, {1, 1}};
    const struct config_region settings[] = {
        {.polygon = corners, .polygon_count = 3, .threshold = 25, .erode = 1},
        {.threshold = 25, .erode = 1},
        {.threshold = 10, .erode = 0},
    };
    const struct watched_region regions[] = {
        {.settings = &settings[0]}, {.settings = &settings[1]}, {.settings = &settings[2]}};
    struct meter *meter = NULL;
    int r = -ENOMEM;
    long count = 0;

    for (; r == -ENOMEM; count++) {
        assert_null(meter);
        assert_true(count < 100);
        allocations_left = count;
        r = meter_new(70, 20, &meter);
    }
    assert_int_equal(r, 0);
    // The meter, three pictures of levels, and three of what a look finds; then none is left to
    // fail.
    assert_int_equal(count - 1, 1 + 3 + 3);
    for (r = -ENOMEM, count = 0; r == -ENOMEM; count++) {
        assert_true(count < 100);
        allocations_left = count;
        r = meter_set_regions(meter, regions, 3);
    }
    assert_int_equal(r, 0);
    // A row of pixels, two lists, a mask for each region, and what moves by either of two
    // thresholds.
    assert_int_equal(count - 1, 1 + 2 + 3 + 2);
    meter_free(meter);
    meter_free(NULL);
}

RUN_TESTS(NULL, NULL)
