// Medians, quartiles and turns. Expected values are numpy's: median() and percentile(…, [25, 75]).
#include "tests/unit/unit.h"

#include "kernels/tune/timing.h"

#include <errno.h>

static int run_all(struct timed *timed, size_t count, unsigned runs, struct error *error)
{
    struct timing_rounds rounds = {timed, count, runs, 0};
    int r;

    do {
        r = timing_turn(&rounds, error);
    } while (r > 0);
    timing_sum_up(&rounds);
    return r;
}

static int next_sample(void *context, struct error *error, double *ret_us)
{
    const double **next = context;

    (void)error;
    *ret_us = *(*next)++;
    return 0;
}

static void assert_timing(const double *values, unsigned count, double median, double spread)
{
    // The first round only warms up.
    double samples[16] = {-1};
    const double *next = samples;
    static struct timed timed;

    memcpy(&samples[1], values, count * sizeof *values);
    timed = (struct timed){.run = next_sample, .context = &next};
    assert_int_equal(run_all(&timed, 1, count, NULL), 0);
    assert_true(timed.result.median == median);
    assert_true(timed.result.spread == spread);
}

TEST(test_median_and_spread_are_numpys)
{
    static const double one[] = {5}, two[] = {4, 1}, three[] = {9, 1, 2}, four[] = {8, 1, 4, 2},
                        six[] = {6, 1, 5, 2, 4, 3}, outlier[] = {10, 11, 12, 13, 14, 15, 100000};

    assert_timing(one, 1, 5, 0);
    assert_timing(two, 2, 2.5, 1.5);
    assert_timing(three, 3, 2, 4);
    assert_timing(four, 4, 3, 3.25);
    assert_timing(six, 6, 3.5, 2.5);
    assert_timing(outlier, 7, 13, 3);
}

TEST(test_faster_is_more_than_either_spread)
{
    const struct timing slow = {100, 4}, near = {96.5, 1}, noisy = {90, 12}, fast = {90, 2};

    assert_false(timing_is_faster(near, slow));
    assert_false(timing_is_faster(noisy, slow));
    assert_true(timing_is_faster(fast, slow));
    assert_false(timing_is_faster(slow, fast));
}

static char order[64];
static size_t order_length;

static int note_turn(void *context, struct error *error, double *ret_us)
{
    (void)error;
    order[order_length++] = *(char *)context;
    *ret_us = (double)order_length;
    return 0;
}

static int refuse_turn(void *context, struct error *error, double *ret_us)
{
    (void)error;
    (void)ret_us;
    order[order_length++] = *(char *)context;
    return -EAGAIN;
}

static int fail_turn(void *context, struct error *error, double *ret_us)
{
    (void)context;
    (void)ret_us;
    return error_set(error, -EIO, "broken");
}

TEST(test_turns_rotate_and_the_first_round_only_warms_up)
{
    static char names[] = "abc";
    static struct timed timed[3];

    order_length = 0;
    for (size_t i = 0; i < 3; i++)
        timed[i] = (struct timed){.run = note_turn, .context = &names[i]};
    assert_int_equal(run_all(timed, 3, 2, NULL), 0);
    assert_int_equal(order_length, 9);
    assert_memory_equal(order, "abcbcacab", 9);
    assert_int_equal(timed[0].count, 2);
    assert_true(timed[0].result.median == 7);
}

TEST(test_what_cannot_be_done_is_left_out_after_one_try)
{
    static char names[] = "ab";
    static struct timed timed[2];

    order_length = 0;
    timed[0] = (struct timed){.run = refuse_turn, .context = &names[0]};
    timed[1] = (struct timed){.run = note_turn, .context = &names[1]};
    assert_int_equal(run_all(timed, 2, 3, NULL), 0);
    assert_memory_equal(order, "abbbb", 5);
    assert_true(timed[0].left_out);
    assert_int_equal(timed[0].count, 0);
    assert_int_equal(timed[1].count, 3);
}

TEST(test_an_error_ends_the_turns)
{
    static struct timed timed[1];
    struct error error = {0};

    timed[0] = (struct timed){.run = fail_turn};
    assert_int_equal(run_all(timed, 1, 3, &error), -EIO);
    assert_string_equal(error.text, "broken");
}

RUN_TESTS(NULL, NULL)
