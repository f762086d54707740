// Every version of Sobel's rows against integer arithmetic on the pixels: r is round(sqrt(n))
// exactly when r² - r < n <= r² + r.
#include "tests/unit/kernels/magnitude_definition.h"
#include "tests/unit/unit.h"

#include "kernels/gradient/sobel.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH_MAX 261
#define ROWS 7
#define REACH 260 // gradients whose result is below 255, and some beyond
#define GUARD 0xa5
#define SPARE 64 // bytes behind a row that a vector could reach

struct results {
    int l2, l1; // not limited to 255
};

static int least(int a, int b)
{
    return a < b ? a : b;
}

static void check_pixel(const struct sobel_version *version, enum config_norm norm, bool limited,
                        int gx, int gy, int output)
{
    bool right = false;

    for (int r = 0; r <= 255 && !right; r++) {
        right = (limited ? luma_of(r) : r) == output &&
                (norm == CONFIG_NORM_L2 ? is_rounded_root(r, gx * gx + gy * gy)
                                        : r == least(255, abs(gx) + abs(gy)));
    }
    if (!right) {
        fail_msg("%s norm %d%s: gx %d gy %d gives %d", version->name, (int)norm,
                 limited ? " limited" : "", gx, gy, output);
    }
}

// Of all four rows of a version: the norm by bit 0, the range by bit 1.
static sobel_rows *rows_of(const struct sobel_version *version, unsigned number)
{
    sobel_rows *const *rows = number & 2 ? version->limited : version->full;

    return rows[number & 1];
}

#define GRADIENTS_WIDTH (4 * REACH + 16)

// From `x` on every fourth pixel is the middle of nine with the gradients `gx` and gy, gy + 2, …
// from -REACH on, both even or both odd.
static void draw_gradients(uint8_t rows[3][GRADIENTS_WIDTH], int x, int gx, int gy)
{
    int odd = gx & 1, dx = (gx - odd) / 2;

    for (; gy <= REACH; x += 4, gy += 2) {
        int dy = (gy - odd) / 2;

        rows[0][x - 1] = rows[2][x - 1] = rows[0][x + 1] = rows[1][x] = 0;
        rows[2][x + 1] = (uint8_t)odd;
        rows[1][x - 1] = (uint8_t)(dx < 0 ? -dx : 0);
        rows[1][x + 1] = (uint8_t)(dx < 0 ? 0 : dx);
        rows[0][x] = (uint8_t)(dy < 0 ? -dy : 0);
        rows[2][x] = (uint8_t)(dy < 0 ? 0 : dy);
    }
}

static void check_gradients(const struct sobel_version *version, unsigned number, int first)
{
    static uint8_t rows[3][GRADIENTS_WIDTH], output[GRADIENTS_WIDTH];
    const uint8_t *const taken[3] = {rows[0], rows[1], rows[2]};

    for (int gx = -REACH; gx <= REACH; gx++) {
        int gy = -REACH + (gx & 1);

        draw_gradients(rows, first, gx, gy);
        rows_of(version, number)(taken, 1, sizeof output, &(uint8_t *){output});
        for (int x = first; gy <= REACH; x += 4, gy += 2) {
            check_pixel(version, (enum config_norm)(number & 1), number & 2, gx, gy, output[x]);
        }
    }
}

// At odd places, and at even ones 9 pixels on: so each gradient is once in either half of 16
// pixels, for which roots are found in different ways.
TEST(test_every_make_rounds_every_root_exactly)
{
    const struct sobel_version *version;

    for (size_t i = 0; (version = sobel_version_at(i)); i++) {
        for (unsigned number = 0; number < 4 && version->supported(); number++) {
            check_gradients(version, number, 1);
            check_gradients(version, number, 1 + 9);
        }
    }
}

// Pixel x of row `y`, the border replicated.
static int pixel(uint8_t *const picture[ROWS], int width, int x, int y)
{
    x = x < 0 ? 0 : least(x, width - 1);
    y = y < 0 ? 0 : least(y, ROWS - 1);
    return picture[y][x];
}

static void check_row(const struct sobel_version *version, unsigned number,
                      uint8_t *const picture[ROWS], int width, int y, const uint8_t *output)
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
        check_pixel(version, (enum config_norm)(number & 1), number & 2, gx, gy, output[x]);
    }
}

// Rows first..ROWS-1 in one go; what lies beside them is not touched.
static void check_rows(const struct sobel_version *version, unsigned number,
                       uint8_t *const picture[ROWS], int width, int first)
{
    const uint8_t *rows[ROWS + 2];
    uint8_t output[ROWS][WIDTH_MAX + SPARE], *outputs[ROWS];

    for (int y = first - 1; y <= ROWS; y++) {
        rows[y - first + 1] = picture[y < 0 ? 0 : least(y, ROWS - 1)];
    }
    for (int i = 0; i < ROWS; i++) {
        outputs[i] = output[i];
    }
    memset(output, GUARD, sizeof output);
    rows_of(version, number)(rows, (unsigned)(ROWS - first), (size_t)width, outputs);
    for (int y = first; y < ROWS; y++) {
        check_row(version, number, picture, width, y, outputs[y - first]);
        for (int x = width; x < WIDTH_MAX + SPARE; x++) {
            assert_int_equal(outputs[y - first][x], GUARD);
        }
    }
}

TEST(test_rows_of_every_width_are_those_of_the_definition)
{
    const struct sobel_version *version;
    uint8_t *picture[ROWS];

    srand(random_seed());
    for (int width = 1; width <= WIDTH_MAX; width++) {
        // Rows end where they end, so that a sanitizer sees reads beyond them.
        for (int y = 0; y < ROWS; y++) {
            picture[y] = malloc((size_t)width);
            assert_non_null(picture[y]);
            for (int x = 0; x < width; x++) {
                picture[y][x] = (uint8_t)(width % 3 ? rand() : rand() % 2 * 255);
            }
        }
        for (size_t i = 0; (version = sobel_version_at(i)) != NULL; i++) {
            for (unsigned number = 0; number < 4 && version->supported(); number++) {
                check_rows(version, number, picture, width, width % ROWS);
            }
        }
        for (int y = 0; y < ROWS; y++) {
            free(picture[y]);
        }
    }
}

TEST(test_the_best_make_is_one_this_cpu_has)
{
    if (sobel_version_best()) {
        assert_true(sobel_version_best()->supported());
    } else {
        assert_true(sobel_version_at(0) == NULL || !sobel_version_at(0)->supported());
    }
}

RUN_TESTS(NULL, NULL)
