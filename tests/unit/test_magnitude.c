// Every make of the magnitude loop against the integer definition of a rounded root, for every
// gx and gy that pictures can have: r is round(sqrt(n)) exactly when r² - r < n <= r² + r.
#include "unit.h"

#include "kernels/magnitude.h"

#include <stdlib.h>
#include <string.h>

#define REACH 1020
#define WIDTH 157 // a multiple of no vector's width
#define LEFT 32

struct row {
    int16_t sums[LEFT + WIDTH + 1 + 2 * MAGNITUDE_PADDING];
    int16_t differences[LEFT + WIDTH + 1 + 2 * MAGNITUDE_PADDING];
};

// Fills a row with the gradient gx everywhere and gy, gy + 1, … across, by solving the two
// recurrences of magnitude.h from the left; 16 bit lanes may wrap on the way, gradients do not.
static void fill_row(struct row *row, int gx, int gy)
{
    int16_t *s = row->sums + LEFT, *d = row->differences + LEFT;

    s[-1] = s[0] = d[-1] = d[0] = 0;
    for (int x = 0; x < WIDTH; x++) {
        s[x + 1] = (int16_t)(s[x - 1] + gx);
        d[x + 1] = (int16_t)(gy + x - 2 * d[x] - d[x - 1]);
    }
}

static bool is_rounded_root(int r, int n)
{
    return r == 255 ? n > 255 * 255 - 255 : r * r - r < n && n <= r * r + r;
}

static void check_make(const struct magnitude_make *make)
{
    struct row row = {0};
    uint8_t output[WIDTH];

    for (int gx = -REACH; gx <= REACH; gx++) {
        for (int gy = -REACH; gy <= REACH; gy += WIDTH) {
            fill_row(&row, gx, gy);
            make->l2(row.sums + LEFT, row.differences + LEFT, WIDTH, output);
            for (int x = 0; x < WIDTH && gy + x <= REACH; x++) {
                int n = gx * gx + (gy + x) * (gy + x);

                if (n != 0 ? !is_rounded_root(output[x], n) : output[x] != 0) {
                    fail_msg("%s: gx %d gy %d gives %d", make->name, gx, gy + x, output[x]);
                }
            }
        }
    }
}

static void test_every_make_rounds_every_root_exactly(void **state)
{
    const struct magnitude_make *make;

    (void)state;
    for (size_t i = 0; (make = magnitude_make_at(i)); i++) {
        if (make->supported()) {
            print_message("checking %s\n", make->name);
            check_make(make);
        }
    }
}

static void test_l1_is_the_clamped_sum_for_every_gradient(void **state)
{
    struct row row = {0};
    uint8_t output[WIDTH];

    (void)state;
    for (int gx = -REACH; gx <= REACH; gx++) {
        for (int gy = -REACH; gy <= REACH; gy += WIDTH) {
            fill_row(&row, gx, gy);
            magnitude_row_l1(row.sums + LEFT, row.differences + LEFT, WIDTH, output);
            for (int x = 0; x < WIDTH && gy + x <= REACH; x++) {
                int sum = abs(gx) + abs(gy + x);

                assert_int_equal(output[x], sum < 255 ? sum : 255);
            }
        }
    }
}

static void test_every_width_writes_its_bytes_and_no_more(void **state)
{
    const struct magnitude_make *make;
    struct row row = {0};

    (void)state;
    fill_row(&row, 3, 0);
    for (size_t i = 0; (make = magnitude_make_at(i)); i++) {
        for (size_t width = 1; width <= WIDTH && make->supported(); width++) {
            uint8_t output[WIDTH + MAGNITUDE_PADDING];

            memset(output, 0xa5, sizeof output);
            make->l2(row.sums + LEFT, row.differences + LEFT, width, output);
            for (size_t x = 0; x < width; x++) {
                int n = 9 + (int)(x * x);

                assert_true(is_rounded_root(output[x], n));
            }
            for (size_t x = width; x < sizeof output; x++) {
                assert_int_equal(output[x], 0xa5);
            }
        }
    }
}

static void test_the_best_make_is_one_this_cpu_has(void **state)
{
    (void)state;
    assert_true(magnitude_make_best()->supported());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_make_rounds_every_root_exactly),
        cmocka_unit_test(test_l1_is_the_clamped_sum_for_every_gradient),
        cmocka_unit_test(test_every_width_writes_its_bytes_and_no_more),
        cmocka_unit_test(test_the_best_make_is_one_this_cpu_has),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
