// Medians, quartiles and turns. Expected values are numpy's: median() and percentile(…, [25, 75]).
#include "tests/unit/unit.h"

#include "daemon/ctl/bench/interleave.h"
#include "daemon/ctl/progress.h"

#include <errno.h>
#include <signal.h>

static struct summary summarize(const double *values, size_t count)
{
    static struct samples samples;

    samples.count = 0;
    for (size_t i = 0; i < count; i++) {
        samples_add(&samples, values[i]);
    }
    return samples_summarize(&samples);
}

static void assert_summary(struct summary summary, double median, double spread)
{
    assert_true(summary.median == median);
    assert_true(summary.spread == spread);
}

TEST(test_median_and_spread_are_numpys)
{
    static const double one[] = {5}, two[] = {4, 1}, three[] = {9, 1, 2}, four[] = {8, 1, 4, 2},
                        six[] = {6, 1, 5, 2, 4, 3};

    assert_summary(summarize(one, 1), 5, 0);
    assert_summary(summarize(two, 2), 2.5, 1.5);
    assert_summary(summarize(three, 3), 2, 4);
    assert_summary(summarize(four, 4), 3, 3.25);
    assert_summary(summarize(six, 6), 3.5, 2.5);
    assert_summary(summarize(NULL, 0), 0, 0);
}

TEST(test_an_outlier_moves_neither)
{
    static const double values[] = {10, 11, 12, 13, 14, 15, 100000};

    assert_summary(summarize(values, ARRAY_LENGTH(values)), 13, 3);
}

TEST(test_faster_is_more_than_either_spread)
{
    const struct summary slow = {100, 4}, near = {96.5, 1}, noisy = {90, 12}, fast = {90, 2};

    assert_false(summary_is_faster(&near, &slow));
    assert_false(summary_is_faster(&noisy, &slow));
    assert_true(summary_is_faster(&fast, &slow));
    assert_false(summary_is_faster(&slow, &fast));
}

TEST(test_samples_past_the_room_are_dropped)
{
    static struct samples samples;

    for (size_t i = 0; i < SAMPLES_MAX + 5; i++) {
        samples_add(&samples, 1);
    }
    assert_int_equal(samples.count, SAMPLES_MAX);
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

static int take(struct timed *timed, size_t count, unsigned runs, struct error *error)
{
    return interleave_run(timed, count, runs, "test", error);
}

TEST(test_turns_rotate_and_the_first_round_only_warms_up)
{
    static char names[] = "abc";
    static struct timed timed[3];

    order_length = 0;
    for (size_t i = 0; i < 3; i++) {
        timed[i] = (struct timed){.run = note_turn, .context = &names[i]};
    }
    assert_int_equal(take(timed, 3, 2, NULL), 0);
    assert_int_equal(order_length, 9);
    assert_memory_equal(order, "abcbcacab", 9);
    assert_int_equal(timed[0].samples.count, 2);
    assert_true(timed[0].samples.values[0] == 6);
}

TEST(test_what_cannot_be_done_is_left_out_after_one_try)
{
    static char names[] = "ab";
    static struct timed timed[2];

    order_length = 0;
    timed[0] = (struct timed){.run = refuse_turn, .context = &names[0]};
    timed[1] = (struct timed){.run = note_turn, .context = &names[1]};
    assert_int_equal(take(timed, 2, 3, NULL), 0);
    assert_memory_equal(order, "abbbb", 5);
    assert_true(timed[0].left_out);
    assert_int_equal(timed[0].samples.count, 0);
    assert_int_equal(timed[1].samples.count, 3);
}

TEST(test_an_error_ends_the_turns)
{
    static struct timed timed[1];
    struct error error = {0};

    timed[0] = (struct timed){.run = fail_turn};
    assert_int_equal(take(timed, 1, 3, &error), -EIO);
    assert_string_equal(error.text, "broken");
}

static int interrupt_turn(void *context, struct error *error, double *ret_us)
{
    if (order_length == 4) {
        raise(SIGINT);
    }
    return note_turn(context, error, ret_us);
}

// The last test: an interrupt stays seen.
TEST(test_an_interrupt_ends_the_turns_with_what_there_is)
{
    static char name = 'a';
    static struct timed timed[1];

    order_length = 0;
    timed[0] = (struct timed){.run = interrupt_turn, .context = &name};
    interrupt_watch();
    assert_int_equal(take(timed, 1, 40, NULL), 0);
    assert_int_equal(timed[0].samples.count, 4);
}

RUN_TESTS(NULL, NULL)
