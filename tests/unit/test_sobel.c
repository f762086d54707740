// Every make of Sobel's rows against integer arithmetic on the pixels: r is round(sqrt(n)) exactly
// when r² - r < n <= r² + r.
#include "magnitude_definition.h"
#include "unit.h"

#include "kernels/sobel.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH_MAX 261
#define ROWS 7
#define REACH 260 // gradients whose result is below 255, and some beyond
#define GUARD 0xa5

struct results {
    int l2, l1; // not limited to 255
};

static int least(int a, int b)
{
    return a < b ? a : b;
}

static void check_pixel(const struct sobel_make *make, enum config_norm norm, bool limited, int gx,
                        int gy, int output)
{
    bool right = false;

    for (int r = 0; r <= 255 && !right; r++) {
        right = (limited ? luma_of(r) : r) == output &&
                (norm == CONFIG_NORM_L2 ? is_rounded_root(r, gx * gx + gy * gy)
                                        : r == least(255, abs(gx) + abs(gy)));
    }
    if (!right) {
        fail_msg("%s norm %d%s: gx %d gy %d gives %d", make->name, (int)norm,
                 limited ? " limited" : "", gx, gy, output);
    }
}

// Of all four rows of a make: the norm by bit 0, the range by bit 1.
static sobel_row *row_of(const struct sobel_make *make, unsigned number)
{
    sobel_row *const *rows = number & 2 ? make->limited : make->full;

    return rows[number & 1];
}

// Every fourth pixel is the middle of nine with the gradients `gx` and gy, gy + 2, … from -REACH
// on, both even or both odd.
static void draw_gradients(uint8_t rows[3][4 * REACH + 4], int gx, int gy)
{
    int odd = gx & 1, dx = (gx - odd) / 2;

    for (int x = 1; gy <= REACH; x += 4, gy += 2) {
        int dy = (gy - odd) / 2;

        rows[0][x - 1] = rows[2][x - 1] = rows[0][x + 1] = rows[1][x] = 0;
        rows[2][x + 1] = (uint8_t)odd;
        rows[1][x - 1] = (uint8_t)(dx < 0 ? -dx : 0);
        rows[1][x + 1] = (uint8_t)(dx < 0 ? 0 : dx);
        rows[0][x] = (uint8_t)(dy < 0 ? -dy : 0);
        rows[2][x] = (uint8_t)(dy < 0 ? 0 : dy);
    }
}

static void check_gradients(const struct sobel_make *make, unsigned number, void *scratch)
{
    static uint8_t rows[3][4 * REACH + 4], output[4 * REACH + 4];
    const uint8_t *const taken[3] = {rows[0], rows[1], rows[2]};

    for (int gx = -REACH; gx <= REACH; gx++) {
        int gy = -REACH + (gx & 1);

        draw_gradients(rows, gx, gy);
        memset(scratch, 0, sizeof(uint32_t));
        sobel_run(row_of(make, number), taken, sizeof output, scratch, output);
        for (int x = 1; gy <= REACH; x += 4, gy += 2) {
            check_pixel(make, (enum config_norm)(number & 1), number & 2, gx, gy, output[x]);
        }
    }
}

static void test_every_make_rounds_every_root_exactly(void **state)
{
    void *scratch = aligned_alloc(64, sobel_scratch_bytes(4 * REACH + 4));
    const struct sobel_make *make;

    (void)state;
    assert_non_null(scratch);
    for (size_t i = 0; (make = sobel_make_at(i)); i++) {
        for (unsigned number = 0; number < 4 && make->supported(); number++) {
            check_gradients(make, number, scratch);
        }
    }
    free(scratch);
}

// Pixel x of row `y`, the border replicated.
static int pixel(uint8_t picture[ROWS][WIDTH_MAX], int width, int x, int y)
{
    x = x < 0 ? 0 : least(x, width - 1);
    y = y < 0 ? 0 : least(y, ROWS - 1);
    return picture[y][x];
}

static void check_row(const struct sobel_make *make, unsigned number,
                      uint8_t picture[ROWS][WIDTH_MAX], int width, int y, const uint8_t *output)
{
    for (int x = 0; x < width; x++) {
        int gx = 0, gy = 0;

        for (int i = -1; i <= 1; i++) {
            int weight = i == 0 ? 2 : 1;

            gx += weight *
                  (pixel(picture, width, x + 1, y + i) - pixel(picture, width, x - 1, y + i));
            gy += weight *
                  (pixel(picture, width, x + i, y + 1) - pixel(picture, width, x + i, y - 1));
        }
        check_pixel(make, (enum config_norm)(number & 1), number & 2, gx, gy, output[x]);
    }
}

// Rows first..ROWS-1, as a thread would that takes a slice; what lies beside them is not touched.
static void check_rows(const struct sobel_make *make, unsigned number,
                       uint8_t picture[ROWS][WIDTH_MAX], int width, int first, void *scratch)
{
    memset(scratch, 0, sizeof(uint32_t));
    for (int y = first; y < ROWS; y++) {
        const uint8_t *const rows[3] = {picture[y > 0 ? y - 1 : 0], picture[y],
                                        picture[least(y + 1, ROWS - 1)]};
        uint8_t output[WIDTH_MAX + SOBEL_BLOCK];

        memset(output, GUARD, sizeof output);
        sobel_run(row_of(make, number), rows, (size_t)width, scratch, output);
        check_row(make, number, picture, width, y, output);
        for (size_t x = (size_t)width; x < sizeof output; x++) {
            assert_int_equal(output[x], GUARD);
        }
    }
}

static void test_runs_of_rows_of_every_width_are_those_of_the_definition(void **state)
{
    const struct sobel_make *make;
    uint8_t picture[ROWS][WIDTH_MAX];

    (void)state;
    for (size_t i = 0; (make = sobel_make_at(i)); i++) {
        for (int width = 1; width <= WIDTH_MAX && make->supported(); width++) {
            // No byte more, so that a sanitizer sees reads beyond it.
            void *scratch = aligned_alloc(64, sobel_scratch_bytes((size_t)width));

            assert_non_null(scratch);
            for (size_t at = 0; at < sizeof picture; at++) {
                picture[at / WIDTH_MAX][at % WIDTH_MAX] =
                    (uint8_t)(width % 3 ? rand() : rand() % 2 * 255);
            }
            for (unsigned number = 0; number < 4; number++) {
                check_rows(make, number, picture, width, width % ROWS, scratch);
            }
            free(scratch);
        }
    }
}

static void test_the_best_make_is_one_this_cpu_has(void **state)
{
    (void)state;
    if (sobel_make_best()) {
        assert_true(sobel_make_best()->supported());
    } else {
        assert_true(sobel_make_at(0) == NULL || !sobel_make_at(0)->supported());
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_make_rounds_every_root_exactly),
        cmocka_unit_test(test_runs_of_rows_of_every_width_are_those_of_the_definition),
        cmocka_unit_test(test_the_best_make_is_one_this_cpu_has),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
