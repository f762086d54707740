// The expected results come from outside the GPU: known numbers (sum, lucas), the CPU's own count
// and a statistical bound (pi), and the CPU's plain loops (matrix, vector, gray).
#include "kernels/selftest/selftest.h"

#include "capture/pixel_format.h"
#include "config/base.h"
#include "kernels/gray/gray.h"
#include "kernels/selftest/selftest_cuda.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define GRID_MAX 1024
#define LUCAS_KNOWN 40

static size_t whole_words(size_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

// A grid in a row with a thread an element, or at least as many as will do.
static struct selftest_plan plan_row(uint32_t count, size_t input_bytes, size_t output_bytes)
{
    uint32_t blocks = (count + SELFTEST_CUDA_THREADS - 1) / SELFTEST_CUDA_THREADS;

    return (struct selftest_plan){whole_words(input_bytes),
                                  whole_words(output_bytes),
                                  {blocks, 1},
                                  {SELFTEST_CUDA_THREADS, 1}};
}

static struct selftest_plan plan_total(const uint32_t *sizes)
{
    struct selftest_plan plan = plan_row(sizes[0], 0, sizeof(uint64_t));

    plan.grid[0] = plan.grid[0] < GRID_MAX ? plan.grid[0] : GRID_MAX;
    return plan;
}

static struct selftest_plan plan_lucas(const uint32_t *sizes)
{
    return plan_row(sizes[0], 0, sizes[0] * sizeof(uint64_t));
}

static struct selftest_plan plan_vector(const uint32_t *sizes)
{
    return plan_row(sizes[0], 2 * sizes[0] * sizeof(float), sizes[0] * sizeof(float));
}

static struct selftest_plan plan_gray(const uint32_t *sizes)
{
    return plan_row(sizes[0], 3 * (size_t)sizes[0], sizes[0]);
}

static struct selftest_plan plan_matrix(const uint32_t *sizes)
{
    const uint32_t tile = SELFTEST_CUDA_TILE;
    size_t input = ((size_t)sizes[0] * sizes[1] + (size_t)sizes[1] * sizes[2]) * sizeof(float);

    return (struct selftest_plan){whole_words(input),
                                  whole_words((size_t)sizes[0] * sizes[2] * sizeof(float)),
                                  {(sizes[2] + tile - 1) / tile, (sizes[0] + tile - 1) / tile},
                                  {tile, tile}};
}

static uint64_t random_bits(uint64_t index)
{
    uint64_t bits;

    SELFTEST_CUDA_RANDOM(index, bits);
    return bits;
}

// The tutorials' loop, result += i * j * 0.1 for i, j < n: a tenth of the integers' sum. For
// 10000 it is known to be 249950002500000; in general it is (n (n - 1) / 2)² / 10.
static void expect_sum(const uint32_t *sizes, const void *input, void *expected)
{
    uint64_t row = (uint64_t)sizes[0] * (sizes[0] - 1) / 2;

    (void)input;
    *(uint64_t *)expected = sizes[0] == 10000 ? UINT64_C(2499500025000000) : row * row;
}

static bool judge_sum(const uint32_t *sizes, const void *output, const void *expected,
                      struct selftest_texts *ret_texts)
{
    uint64_t sum = *(const uint64_t *)output, right = *(const uint64_t *)expected;

    (void)sizes;
    snprintf(ret_texts->value, sizeof ret_texts->value, "%" PRIu64 ".%" PRIu64, sum / 10, sum % 10);
    snprintf(ret_texts->expected, sizeof ret_texts->expected, "%" PRIu64 ".%" PRIu64, right / 10,
             right % 10);
    return sum == right;
}

// L(40) is known; the numbers around it follow from it by their definition.
static void expect_lucas(const uint32_t *sizes, const void *input, void *expected)
{
    uint64_t *lucas = expected;

    (void)input;
    lucas[0] = 2;
    lucas[1] = 1;
    for (uint32_t i = 2; i < sizes[0]; i++)
        lucas[i] = i == LUCAS_KNOWN ? 228826127 : lucas[i - 1] + lucas[i - 2];
}

static bool judge_lucas(const uint32_t *sizes, const void *output, const void *expected,
                        struct selftest_texts *ret_texts)
{
    const uint64_t *lucas = output, *right = expected;
    uint32_t i = 0;

    while (i < sizes[0] && lucas[i] == right[i])
        i++;
    bool same = i == sizes[0];
    uint32_t shown = same ? LUCAS_KNOWN : i;
    snprintf(ret_texts->value, sizeof ret_texts->value, "L(%u) = %" PRIu64, shown, lucas[shown]);
    snprintf(ret_texts->expected, sizeof ret_texts->expected, "%" PRIu64, right[shown]);
    return same;
}

static void expect_pi(const uint32_t *sizes, const void *input, void *expected)
{
    uint64_t inside = 0;

    (void)input;
    for (uint32_t i = 0; i < sizes[0]; i++) {
        uint64_t bits = random_bits(i), x = bits >> 33, y = bits & 0x7fffffff;

        inside += x * x + y * y < UINT64_C(1) << 62;
    }
    *(uint64_t *)expected = inside;
}

// The CPU's count, and within 4 standard deviations of pi: a point is inside by a chance of pi / 4.
static bool judge_pi(const uint32_t *sizes, const void *output, const void *expected,
                     struct selftest_texts *ret_texts)
{
    uint64_t inside = *(const uint64_t *)output, right = *(const uint64_t *)expected;
    double pi = 4.0 * (double)inside / sizes[0];
    double deviation = 4 * sqrt(M_PI / 4 * (1 - M_PI / 4) / sizes[0]);

    snprintf(ret_texts->value, sizeof ret_texts->value, "%.5f, %" PRIu64 " of %u points", pi,
             inside, sizes[0]);
    snprintf(ret_texts->expected, sizeof ret_texts->expected, "%.5f +- %.5f, %" PRIu64, M_PI,
             4 * deviation, right);
    return inside == right && fabs(pi - M_PI) < 4 * deviation;
}

// 0 to 15: sums of up to 74565 products are exact in a float.
static void fill_matrix(const uint32_t *sizes, void *input)
{
    size_t count = (size_t)sizes[0] * sizes[1] + (size_t)sizes[1] * sizes[2];
    float *floats = input;

    for (size_t i = 0; i < count; i++)
        floats[i] = (float)(random_bits(i) & 15);
}

static void expect_matrix(const uint32_t *sizes, const void *input, void *expected)
{
    const float *a = input, *b = a + (size_t)sizes[0] * sizes[1];
    float *c = expected;

    for (uint32_t y = 0; y < sizes[0]; y++) {
        for (uint32_t k = 0; k < sizes[1]; k++) {
            for (uint32_t x = 0; x < sizes[2]; x++) {
                c[(size_t)y * sizes[2] + x] +=
                    a[(size_t)y * sizes[1] + k] * b[(size_t)k * sizes[2] + x];
            }
        }
    }
}

// 1 to 16777216, so that no sum is 0 and all are finite.
static void fill_vector(const uint32_t *sizes, void *input)
{
    float *floats = input;

    for (size_t i = 0; i < 2 * (size_t)sizes[0]; i++)
        floats[i] = (float)((random_bits(i) & 0xffffff) + 1);
}

// IEEE 754 leaves nothing to choose: every operation is rounded to nearest, and 2 x is exact.
static void expect_vector(const uint32_t *sizes, const void *input, void *expected)
{
    const float *x = input, *y = x + sizes[0];
    float *z = expected;

    for (uint32_t i = 0; i < sizes[0]; i++)
        z[i] = sqrtf(fabsf(2 * (x[i] - y[i]) / (x[i] + y[i])));
}

// Number `i` that differs, or all that do not.
static void tell_number(size_t i, size_t count, double number, double expected,
                        struct selftest_texts *ret_texts)
{
    if (i < count)
        snprintf(ret_texts->value, sizeof ret_texts->value, "%.9g as number %zu", number, i);
    else
        snprintf(ret_texts->value, sizeof ret_texts->value, "%zu numbers, as the CPU", count);
    snprintf(ret_texts->expected, sizeof ret_texts->expected, "%.9g", expected);
}

static bool judge_floats(const float *floats, const float *expected, size_t count,
                         struct selftest_texts *ret_texts)
{
    size_t i = 0;

    while (i + 1 < count && floats[i] == expected[i])
        i++;
    bool same = floats[i] == expected[i];
    tell_number(same ? count : i, count, (double)floats[i], (double)expected[i], ret_texts);
    return same;
}

static bool judge_matrix(const uint32_t *sizes, const void *output, const void *expected,
                         struct selftest_texts *ret_texts)
{
    return judge_floats(output, expected, (size_t)sizes[0] * sizes[2], ret_texts);
}

static bool judge_vector(const uint32_t *sizes, const void *output, const void *expected,
                         struct selftest_texts *ret_texts)
{
    return judge_floats(output, expected, sizes[0], ret_texts);
}

static void fill_gray(const uint32_t *sizes, void *input)
{
    uint8_t *bytes = input;

    for (size_t i = 0; i < 3 * (size_t)sizes[0]; i++)
        bytes[i] = (uint8_t)random_bits(i);
}

static void expect_gray(const uint32_t *sizes, const void *input, void *expected)
{
    gray_row_for(pixel_format_by_name("RGB3"))(input, sizes[0], expected);
}

static bool judge_gray(const uint32_t *sizes, const void *output, const void *expected,
                       struct selftest_texts *ret_texts)
{
    const uint8_t *gray = output, *right = expected;
    size_t i = 0;

    while (i + 1 < sizes[0] && gray[i] == right[i])
        i++;
    bool same = gray[i] == right[i];
    tell_number(same ? sizes[0] : i, sizes[0], gray[i], right[i], ret_texts);
    return same;
}

// Odd sizes: the last blocks are not full.
static const struct selftest tests[] = {
    {"sum",
     "the loop over i * j * 0.1",
     "selftest_sum",
     {{1000}, {10000}},
     plan_total,
     NULL,
     expect_sum,
     judge_sum},
    {"lucas",
     "the Lucas numbers",
     "selftest_lucas",
     {{41}, {91}},
     plan_lucas,
     NULL,
     expect_lucas,
     judge_lucas},
    {"pi",
     "pi by Monte Carlo",
     "selftest_pi",
     {{65536}, {16777216}},
     plan_total,
     NULL,
     expect_pi,
     judge_pi},
    {"matrix",
     "a matrix product",
     "selftest_matrix",
     {{33, 47, 35}, {513, 259, 383}},
     plan_matrix,
     fill_matrix,
     expect_matrix,
     judge_matrix},
    {"vector",
     "a vectorized function",
     "selftest_vector",
     {{1027}, {4194301}},
     plan_vector,
     fill_vector,
     expect_vector,
     judge_vector},
    {"gray",
     "RGB to gray",
     "selftest_gray",
     {{1027}, {2073599}},
     plan_gray,
     fill_gray,
     expect_gray,
     judge_gray},
};

const struct selftest *selftest_at(size_t index)
{
    return index < ARRAY_LENGTH(tests) ? &tests[index] : NULL;
}
