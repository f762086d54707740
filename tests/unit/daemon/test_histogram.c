// Latency histograms against percentiles worked out by hand.
#include "tests/unit/unit.h"

#include "config/base.h"
#include "daemon/front/status/histogram.h"

TEST(test_bounds_ascend_from_50_us_to_10_s)
{
    assert_float_equal(histogram_bound_s(0), 50e-6, 1e-12);
    assert_float_equal(histogram_bound_s(HISTOGRAM_BUCKETS - 1), 10, 1e-12);
    for (unsigned i = 1; i < HISTOGRAM_BUCKETS; i++) {
        assert_true(histogram_bound_s(i) > histogram_bound_s(i - 1));
        assert_true(histogram_bound_s(i) <= histogram_bound_s(i - 1) * 5 / 3 + 1e-12);
    }
}

TEST(test_a_bound_belongs_to_the_bucket_below)
{
    struct histogram histogram = {0};

    histogram_add_ns(&histogram, 50 * NS_PER_US);
    histogram_add_ns(&histogram, 50 * NS_PER_US + 1);
    histogram_add_ns(&histogram, 10 * NS_PER_S);
    histogram_add_ns(&histogram, 10 * NS_PER_S + 1);
    assert_int_equal(histogram.buckets[0], 1);
    assert_int_equal(histogram.buckets[1], 1);
    assert_int_equal(histogram.buckets[HISTOGRAM_BUCKETS - 1], 1);
    assert_int_equal(histogram.buckets[HISTOGRAM_BUCKETS], 1);
    assert_int_equal(histogram.count, 4);
    assert_float_equal(histogram.sum_s, 20.0001, 1e-6);
}

TEST(test_percentiles_interpolate_inside_a_bucket)
{
    struct histogram histogram = {0};

    for (int i = 0; i < 10; i++) {
        histogram_add_ns(&histogram, 1 * NS_PER_MS); // bucket 0.75 ms to 1 ms
        histogram_add_ns(&histogram, 2 * NS_PER_MS); // bucket 1.8 ms to 2.4 ms
    }
    assert_float_equal(histogram_percentile_ms(&histogram, 0), 0.75, 1e-9);
    assert_float_equal(histogram_percentile_ms(&histogram, 0.25), 0.875, 1e-9);
    assert_float_equal(histogram_percentile_ms(&histogram, 0.5), 1, 1e-9);
    assert_float_equal(histogram_percentile_ms(&histogram, 0.75), 2.1, 1e-9);
    assert_float_equal(histogram_percentile_ms(&histogram, 1), 2.4, 1e-9);
}

TEST(test_percentiles_of_an_even_spread_are_near_the_true_ones)
{
    struct histogram histogram = {0};

    for (int i = 1; i <= 1000; i++) // 0.1 ms to 100 ms
        histogram_add_ns(&histogram, i * 100 * NS_PER_US);
    assert_float_equal(histogram_percentile_ms(&histogram, 0.5), 50, 0.1);
    assert_float_equal(histogram_percentile_ms(&histogram, 0.95), 95, 0.1);
    assert_float_equal(histogram_percentile_ms(&histogram, 0.99), 99, 0.1);
}

TEST(test_no_samples_are_0_ms)
{
    struct histogram histogram = {0};

    assert_float_equal(histogram_percentile_ms(&histogram, 0.5), 0, 0);
}

TEST(test_beyond_10_s_is_reported_as_10_s)
{
    struct histogram histogram = {0};

    histogram_add_ns(&histogram, 60 * NS_PER_S);
    assert_float_equal(histogram_percentile_ms(&histogram, 0.5), 10000, 1e-9);
}

TEST(test_a_negative_time_counts_as_0)
{
    struct histogram histogram = {0};

    histogram_add_ns(&histogram, -5 * NS_PER_S);
    assert_int_equal(histogram.buckets[0], 1);
    assert_float_equal(histogram.sum_s, 0, 0);
}

RUN_TESTS(NULL, NULL)
