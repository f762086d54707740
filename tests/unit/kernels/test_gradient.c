// The gradient's loops against integer and double arithmetic: those of vectors, and the plain ones
// that every CPU has. r is round(sqrt(n)) exactly when r² - r < n <= r² + r.
#include "tests/unit/unit.h"

#include "kernels/gradient/gradient.h"
#include "kernels/stage/plan_step.h"
#include "kernels/stage/stage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RADIUS_MAX 2

static int least(int a, int b)
{
    return a < b ? a : b;
}

static bool is_rounded_root(int r, int n)
{
    return n == 0 ? r == 0 : r == 255 ? n > 255 * 255 - 255 : r * r - r < n && n <= r * r + r;
}

// Whether `r` is the magnitude of a gradient with gain 1.
static bool is_magnitude(enum config_norm norm, int gx, int gy, int r)
{
    return norm == CONFIG_NORM_L2 ? is_rounded_root(r, gx * gx + gy * gy)
                                  : r == least(255, abs(gx) + abs(gy));
}

// The definition of limited range.
static int luma_of(int magnitude)
{
    return 16 + (219 * magnitude + 127) / 255;
}

static int differentiate(enum config_operator op, const int *n)
{
    return op == CONFIG_OPERATOR_SOBEL5 ? n[2] - n[-2] + 2 * (n[1] - n[-1]) : n[1] - n[-1];
}

static int smooth(enum config_operator op, const int *n)
{
    int sides = n[-1] + n[1];

    switch (op) {
    case CONFIG_OPERATOR_SOBEL5:
        return n[-2] + n[2] + 4 * sides + 6 * n[0];
    case CONFIG_OPERATOR_SCHARR:
        return 3 * sides + 10 * n[0];
    case CONFIG_OPERATOR_PREWITT:
        return sides + n[0];
    default:
        return sides + 2 * n[0];
    }
}

static struct gradient make_gradient(enum config_operator op, enum config_norm norm, double gain)
{
    struct gradient gradient = {0};

    gradient_set(&gradient, &(struct stage_options){.op = op, .norm = norm, .gain = gain});
    return gradient;
}

#define WIDTH 157 // a multiple of no vector's width
#define LEFT 32

struct row {
    int16_t sums[LEFT + WIDTH + 2 * LEFT], differences[LEFT + WIDTH + 2 * LEFT];
};

// Columns of sobel5, whose gradients are the largest, with gx everywhere and gy, gy + 1, … across,
// from the left: each new element is what its pixel still lacks. 16 bits may wrap on the way,
// gradients do not.
static struct gradient_columns make_columns(struct row *row, int gx, int gy)
{
    int16_t *s = row->sums + LEFT, *d = row->differences + LEFT;

    memset(row, 0, sizeof *row);
    for (int x = 0; x < WIDTH; x++) {
        s[x + 2] = (int16_t)(gx + s[x - 2] - 2 * (s[x + 1] - s[x - 1]));
        d[x + 2] = (int16_t)(gy + x - d[x - 2] - 4 * (d[x - 1] + d[x + 1]) - 6 * d[x]);
    }
    return (struct gradient_columns){s, d};
}

static void check_plain(enum config_norm norm, double gain, int gx_step, int gy_step)
{
    struct gradient gradient = make_gradient(CONFIG_OPERATOR_SOBEL5, norm, gain);
    void *scratch = calloc(1, gradient_scratch_bytes(WIDTH));
    struct row row = {0};
    uint8_t output[WIDTH];

    assert_non_null(scratch);
    // All that are short, and a grid of those beyond.
    for (int gx = -GRADIENT_REACH; gx <= GRADIENT_REACH; gx += abs(gx) < 260 ? 1 : gx_step) {
        for (int gy = -GRADIENT_REACH; gy + WIDTH <= GRADIENT_REACH;
             gy += abs(gx) < 260 ? WIDTH : gy_step) {
            gradient_measure(&gradient, make_columns(&row, gx, gy), WIDTH, scratch, output);
            for (int x = 0; x < WIDTH; x++) {
                double n = norm == CONFIG_NORM_L1 ? abs(gx) + abs(gy + x)
                                                  : sqrt(gx * gx + (gy + x) * (gy + x));

                if (output[x] != (int)fmin(255, rint(gain * n)))
                    fail_msg("gain %g: gx %d gy %d gives %d", gain, gx, gy + x, output[x]);
            }
        }
    }
    free(scratch);
}

TEST(test_plain_loops_round_every_magnitude_exactly)
{
    check_plain(CONFIG_NORM_L2, 1.0, 83, 7 * WIDTH);
    check_plain(CONFIG_NORM_L1, 1.0, 83, 7 * WIDTH);
}

// Of 0.0625 sixteenths: the odd multiples of a half round to even.
TEST(test_any_gain_rounds_exactly)
{
    static const double gains[] = {0.01, 0.0625, 0.0833, 0.25, 1.0 / 3, 0.5, 1.5, 100};

    for (size_t i = 0; i < ARRAY_LENGTH(gains); i++) {
        check_plain(CONFIG_NORM_L2, gains[i], 997, 21 * WIDTH);
        check_plain(CONFIG_NORM_L1, gains[i], 997, 21 * WIDTH);
    }
}

#define REACH 255
#define GRADIENTS_WIDTH (4 * (2 * REACH + 1) + 16)

// From `x` on every fourth pixel is the middle of nine whose gradients are `gx` and gy, gy + step,
// … from -REACH on: by Prewitt all, by Sobel those that are both even or both odd.
static void draw_gradients(uint8_t rows[3][GRADIENTS_WIDTH], int x, int gx, int gy, int step)
{
    int odd = step == 2 ? gx & 1 : 0, dx = (gx - odd) / step;

    for (; gy <= REACH; x += 4, gy += step) {
        int dy = (gy - odd) / step;

        rows[0][x - 1] = rows[2][x - 1] = rows[0][x + 1] = rows[1][x] = 0;
        rows[2][x + 1] = (uint8_t)odd;
        rows[1][x - 1] = (uint8_t)(dx < 0 ? -dx : 0);
        rows[1][x + 1] = (uint8_t)(dx < 0 ? 0 : dx);
        rows[0][x] = (uint8_t)(dy < 0 ? -dy : 0);
        rows[2][x] = (uint8_t)(dy < 0 ? 0 : dy);
    }
}

static void check_gradients(enum config_operator op, enum config_norm norm, bool limited, int first)
{
    static uint8_t rows[3][GRADIENTS_WIDTH], output[GRADIENTS_WIDTH];
    const uint8_t *const taken[3] = {rows[0], rows[1], rows[2]};
    magnitude_rows *measure = magnitude_rows_for(norm, op);
    int step = op == CONFIG_OPERATOR_SOBEL ? 2 : 1;

    for (int gx = -REACH; gx <= REACH && measure; gx++) {
        int gy = -REACH + (step == 2 && gx % 2 == 0);

        draw_gradients(rows, first, gx, gy, step);
        measure(taken, 1, sizeof output, limited, &(uint8_t *){output});
        for (int x = first; gy <= REACH; x += 4, gy += step) {
            int r = 0;

            while (r < 255 && !is_magnitude(norm, gx, gy, r))
                r++;
            if (output[x] != (limited ? luma_of(r) : r))
                fail_msg("norm %d: gx %d gy %d gives %d", (int)norm, gx, gy, output[x]);
        }
    }
}

// At odd places, and at even ones 9 pixels on: so each gradient is once in either half of 16
// pixels, for which roots are found in different ways. Gradients of boxes and others go different
// ways.
TEST(test_vectors_round_every_magnitude_exactly)
{
    for (int norm = CONFIG_NORM_L2; norm <= CONFIG_NORM_L1; norm++) {
        for (int limited = 0; limited <= 1; limited++) {
            for (int first = 1; first <= 10; first += 9) {
                check_gradients(CONFIG_OPERATOR_SOBEL, (enum config_norm)norm, limited, first);
                check_gradients(CONFIG_OPERATOR_PREWITT, (enum config_norm)norm, limited, first);
            }
        }
    }
}

#define WIDTH_MAX 261
#define ROWS 7
#define GUARD 0xa5
#define SPARE 64 // bytes behind a row that a vector could reach

// gx and gy of a pixel, the border replicated.
static void find_gradient(enum config_operator op, uint8_t *const picture[ROWS], int width, int x,
                          int y, int *ret_gx, int *ret_gy)
{
    int derived[5], smoothed[5];

    for (int i = -RADIUS_MAX; i <= RADIUS_MAX; i++) {
        const uint8_t *row = picture[y + i < 0 ? 0 : least(y + i, ROWS - 1)];
        int pixels[5];

        for (int j = -RADIUS_MAX; j <= RADIUS_MAX; j++)
            pixels[j + RADIUS_MAX] = row[x + j < 0 ? 0 : least(x + j, width - 1)];
        derived[i + RADIUS_MAX] = differentiate(op, pixels + RADIUS_MAX);
        smoothed[i + RADIUS_MAX] = smooth(op, pixels + RADIUS_MAX);
    }
    *ret_gx = smooth(op, derived + RADIUS_MAX);
    *ret_gy = differentiate(op, smoothed + RADIUS_MAX);
}

// By vectors if there are any, else and without them by the plain loops.
static void measure_rows(const struct gradient *gradient, bool plain, const uint8_t *const *rows,
                         unsigned count, uint32_t width, bool limited, uint8_t *const *outputs)
{
    void *scratch = calloc(1, gradient_scratch_bytes(width));

    assert_non_null(scratch);
    if (!plain && gradient->rows)
        gradient->rows(rows, count, width, limited, outputs);
    for (unsigned i = 0; i < count && (plain || !gradient->rows); i++) {
        gradient_measure(gradient, gradient_find_columns(gradient, rows + i, width, scratch), width,
                         scratch, outputs[i]);
        for (uint32_t x = 0; x < width && limited; x++)
            outputs[i][x] = (uint8_t)luma_of(outputs[i][x]);
    }
    free(scratch);
}

// Rows first..ROWS-1 in one go; what lies beside them is not touched.
static void check_rows(const struct gradient *gradient, bool plain, bool limited,
                       uint8_t *const picture[ROWS], int width, int first)
{
    int radius = (int)gradient_radius(gradient->op);
    const uint8_t *rows[ROWS + 2 * RADIUS_MAX];
    uint8_t output[ROWS][WIDTH_MAX + SPARE], *outputs[ROWS];

    for (int i = 0; i < ROWS - first + 2 * radius; i++) {
        int y = first - radius + i;

        rows[i] = picture[y < 0 ? 0 : least(y, ROWS - 1)];
    }
    for (int i = 0; i < ROWS; i++)
        outputs[i] = output[i];
    memset(output, GUARD, sizeof output);
    measure_rows(gradient, plain, rows, (unsigned)(ROWS - first), (uint32_t)width, limited,
                 outputs);
    for (int y = first; y < ROWS; y++) {
        for (int x = 0; x < WIDTH_MAX + SPARE; x++) {
            int found = output[y - first][x], gx, gy, r = 0;

            if (x >= width) {
                assert_int_equal(found, GUARD);
                continue;
            }
            find_gradient(gradient->op, picture, width, x, y, &gx, &gy);
            while (r < 255 && !is_magnitude(gradient->norm, gx, gy, r))
                r++;
            if (found != (limited ? luma_of(r) : r)) {
                fail_msg("operator %d norm %d%s: gx %d gy %d gives %d at %d of %d",
                         (int)gradient->op, (int)gradient->norm, plain ? " plain" : "", gx, gy,
                         found, x, width);
            }
        }
    }
}

static void check_picture(uint8_t *const picture[ROWS], int width)
{
    for (int op = 0; op < CONFIG_OPERATOR_COUNT; op++) {
        for (int norm = CONFIG_NORM_L2; norm <= CONFIG_NORM_L1; norm++) {
            const struct gradient gradient =
                make_gradient((enum config_operator)op, (enum config_norm)norm, 1.0);

            check_rows(&gradient, false, width % 2, picture, width, width % ROWS);
            check_rows(&gradient, true, width % 2, picture, width, width % ROWS);
        }
    }
}

TEST(test_rows_of_every_width_are_those_of_the_definition)
{
    uint8_t *picture[ROWS];

    srand(random_seed());
    for (int width = 1; width <= WIDTH_MAX; width++) {
        // Rows end where they end, so that a sanitizer sees reads beyond them.
        for (int y = 0; y < ROWS; y++) {
            picture[y] = malloc((size_t)width);
            assert_non_null(picture[y]);
            for (int x = 0; x < width; x++)
                picture[y][x] = (uint8_t)(width % 3 ? rand() : rand() % 2 * 255);
        }
        check_picture(picture, width);
        for (int y = 0; y < ROWS; y++)
            free(picture[y]);
    }
}

TEST(test_a_threshold_is_the_smallest_number_with_its_result)
{
    uint32_t thresholds[256];

    // round(0.5 sqrt(n)) with halves to even: 1 from the root above 1, 2 from 3, 3 above 5 …
    gradient_thresholds(CONFIG_NORM_L2, 0.5, thresholds);
    assert_int_equal(thresholds[0], 0);
    assert_int_equal(thresholds[1], 2);
    assert_int_equal(thresholds[2], 9);
    assert_int_equal(thresholds[3], 26);
    assert_int_equal(thresholds[254], 507 * 507);
    assert_int_equal(thresholds[255], 509 * 509 + 1);
    // 0.01 of the longest gradient, 12240 * sqrt(2), is 173.
    gradient_thresholds(CONFIG_NORM_L2, 0.01, thresholds);
    assert_int_equal(thresholds[173], 17250 * 17250 + 1);
    assert_true(thresholds[174] == UINT32_MAX);
}

RUN_TESTS(NULL, NULL)
