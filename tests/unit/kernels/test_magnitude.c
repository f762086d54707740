// Every version of the magnitude loops, for every operator, against integer and double arithmetic:
// r is round(sqrt(n)) exactly when r² - r < n <= r² + r.
#include "tests/unit/kernels/magnitude_definition.h"
#include "tests/unit/unit.h"

#include "kernels/gradient/gradient.h"
#include "kernels/gradient/magnitude.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 157 // a multiple of no vector's width
#define LEFT 32

static const int reaches[] = {[CONFIG_OPERATOR_SOBEL] = 1020,
                              [CONFIG_OPERATOR_SOBEL5] = 12240,
                              [CONFIG_OPERATOR_SCHARR] = 4080,
                              [CONFIG_OPERATOR_PREWITT] = 765};

struct row {
    int16_t sums[LEFT + WIDTH + 2 + 2 * MAGNITUDE_PADDING];
    int16_t differences[LEFT + WIDTH + 2 + 2 * MAGNITUDE_PADDING];
};

static int differentiate(enum config_operator operator, const int16_t * s)
{
    return operator== CONFIG_OPERATOR_SOBEL5 ? s[2] - s[-2] + 2 * (s[1] - s[-1]) : s[1] - s[-1];
}

static int smooth(enum config_operator operator, const int16_t * d)
{
    switch (operator) {
    case CONFIG_OPERATOR_SOBEL5:
        return d[-2] + 4 * d[-1] + 6 * d[0] + 4 * d[1] + d[2];
    case CONFIG_OPERATOR_SCHARR:
        return 3 * d[-1] + 10 * d[0] + 3 * d[1];
    case CONFIG_OPERATOR_PREWITT:
        return d[-1] + d[0] + d[1];
    default:
        return d[-1] + 2 * d[0] + d[1];
    }
}

// Fills a row with the gradient gx everywhere and gy, gy + 1, … across, from the left: each new
// element is what its pixel still lacks. 16 bit lanes may wrap on the way, gradients do not; modulo
// 2^16 the inverse of scharr's outer weight 3 is 43691.
static void fill_row(struct row *row, enum config_operator operator, int gx, int gy)
{
    int radius = operator== CONFIG_OPERATOR_SOBEL5 ? 2 : 1;
    uint32_t inverse = operator== CONFIG_OPERATOR_SCHARR ? 43691 : 1;
    int16_t *s = row->sums + LEFT, *d = row->differences + LEFT;

    for (int x = -radius; x < radius; x++) {
        s[x] = d[x] = 0;
    }
    for (int x = 0; x < WIDTH; x++) {
        s[x + radius] = d[x + radius] = 0;
        s[x + radius] = (int16_t)(gx - differentiate(operator, s + x));
        d[x + radius] =
            (int16_t)(inverse * ((uint32_t)gy + (uint32_t)x - (uint32_t)smooth(operator, d + x)));
    }
}

// Every gradient whose result is below 255, and a grid of those beyond.
static int next_gx(int gx)
{
    return gx >= -260 && gx < 260 ? gx + 1 : gx + 83;
}

static void check_make(const struct magnitude_version *version, enum config_operator operator)
{
    int reach = reaches[operator];
    struct row row = {0};
    uint8_t output[WIDTH], lumas[WIDTH];

    for (int gx = -reach; gx <= reach; gx = next_gx(gx)) {
        int step = abs(gx) <= 260 || operator== CONFIG_OPERATOR_SOBEL ? WIDTH : 7 * WIDTH;

        for (int gy = -reach; gy <= reach; gy += step) {
            fill_row(&row, operator, gx, gy);
            version->full[CONFIG_NORM_L2][operator](row.sums + LEFT, row.differences + LEFT, WIDTH,
                                                    output);
            version->limited[CONFIG_NORM_L2][operator](row.sums + LEFT, row.differences + LEFT,
                                                       WIDTH, lumas);
            for (int x = 0; x < WIDTH && gy + x <= reach; x++) {
                if (!is_rounded_root(output[x], gx * gx + (gy + x) * (gy + x)) ||
                    lumas[x] != luma_of(output[x])) {
                    fail_msg("%s %d: gx %d gy %d gives %d", version->name, operator, gx, gy + x,
                             output[x]);
                }
            }
        }
    }
}

TEST(test_every_make_rounds_every_root_exactly)
{
    const struct magnitude_version *version;

    for (size_t i = 0; (version = magnitude_version_at(i)); i++) {
        for (int operator= 0; operator<CONFIG_OPERATOR_COUNT && version->supported(); operator++) {
            check_make(version, (enum config_operator) operator);
        }
    }
}

static void check_sums(const struct row *row, enum config_operator operator, int gx, int gy)
{
    const int16_t *s = row->sums + LEFT, *d = row->differences + LEFT;
    const struct magnitude_version *version;
    uint8_t output[WIDTH], lumas[WIDTH];

    for (size_t i = 0; (version = magnitude_version_at(i)); i++) {
        if (!version->supported()) {
            continue;
        }
        version->full[CONFIG_NORM_L1][operator](s, d, WIDTH, output);
        version->limited[CONFIG_NORM_L1][operator](s, d, WIDTH, lumas);
        for (int x = 0; x < WIDTH && gy + x <= reaches[operator]; x++) {
            int sum = abs(gx) + abs(gy + x);

            assert_int_equal(output[x], sum < 255 ? sum : 255);
            assert_int_equal(lumas[x], luma_of(output[x]));
        }
    }
}

TEST(test_l1_is_the_clamped_sum_for_every_gradient)
{
    struct row row = {0};
    uint8_t scaled[WIDTH];

    for (int o = 0; o < CONFIG_OPERATOR_COUNT; o++) {
        enum config_operator operator=(enum config_operator) o;

        for (int gx = -reaches[o]; gx <= reaches[o]; gx = next_gx(gx)) {
            for (int gy = -reaches[o]; gy <= reaches[o]; gy += WIDTH) {
                fill_row(&row, operator, gx, gy);
                check_sums(&row, operator, gx, gy);
                magnitude_scale_l1_for(operator)(row.sums + LEFT, row.differences + LEFT, WIDTH,
                                                 0.0625, scaled);
                for (int x = 0; x < WIDTH && gy + x <= reaches[o]; x++) {
                    int sum = abs(gx) + abs(gy + x);

                    // Sixteenths; the odd multiples of a half round to even.
                    sum = (sum + 7 + (sum >> 4 & 1)) >> 4;
                    assert_int_equal(scaled[x], sum < 255 ? sum : 255);
                }
            }
        }
    }
}

TEST(test_what_float_does_not_doubt_is_right)
{
    static const double gains[] = {0.01, 0.0833, 0.25, 1.0 / 3, 0.5, 1.5, 100};
    struct row row = {0};
    uint32_t squares[WIDTH];
    uint8_t results[WIDTH], doubts[WIDTH];
    const struct magnitude_guess guess = {squares, results, doubts};
    unsigned certain = 0, doubtful = 0;

    for (size_t i = 0; i < ARRAY_LENGTH(gains); i++) {
        for (int gx = -12240; gx <= 12240; gx += 97) {
            for (int gy = -12240; gy <= 12240 - WIDTH; gy += 3 * WIDTH) {
                fill_row(&row, CONFIG_OPERATOR_SOBEL5, gx, gy);
                magnitude_scale_l2_for(CONFIG_OPERATOR_SOBEL5)(
                    row.sums + LEFT, row.differences + LEFT, WIDTH, (float)gains[i], guess);
                for (int x = 0; x < WIDTH; x++) {
                    int n = gx * gx + (gy + x) * (gy + x);
                    int right = (int)fmin(255, rint(gains[i] * sqrt(n)));

                    assert_int_equal(squares[x], n);
                    assert_true(right == results[x] || (doubts[x] == 1 && right == results[x] + 1));
                    certain += doubts[x] == 0;
                    doubtful += doubts[x];
                }
            }
        }
    }
    assert_true(doubtful < certain / 200);
}

// With gx = 3 and gy = x the magnitudes of an L2 norm are roots of 9 + x², of L1 3 + x.
static void check_width(magnitude_row *write, const struct row *row, size_t width,
                        enum config_norm norm, bool limited)
{
    uint8_t output[WIDTH + MAGNITUDE_PADDING];

    memset(output, 0xa5, sizeof output);
    write(row->sums + LEFT, row->differences + LEFT, width, output);
    for (size_t x = 0; x < width; x++) {
        int right = norm == CONFIG_NORM_L1 ? 3 + (int)x : (int)rint(sqrt(9 + (double)(x * x)));

        assert_int_equal(output[x], limited ? luma_of(right) : right);
    }
    for (size_t x = width; x < sizeof output; x++) {
        assert_int_equal(output[x], 0xa5);
    }
}

TEST(test_every_width_writes_its_bytes_and_no_more)
{
    const struct magnitude_version *version;
    struct row row = {0};

    for (size_t i = 0; (version = magnitude_version_at(i)); i++) {
        for (size_t width = 1; width <= WIDTH && version->supported(); width++) {
            for (int o = 0; o < CONFIG_OPERATOR_COUNT; o++) {
                fill_row(&row, (enum config_operator)o, 3, 0);
                for (int norm = CONFIG_NORM_L2; norm <= CONFIG_NORM_L1; norm++) {
                    check_width(version->full[norm][o], &row, width, (enum config_norm)norm, false);
                    check_width(version->limited[norm][o], &row, width, (enum config_norm)norm,
                                true);
                }
            }
        }
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

TEST(test_the_best_make_is_one_this_cpu_has)
{
    assert_true(magnitude_version_best()->supported());
}

RUN_TESTS(NULL, NULL)
