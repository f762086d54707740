// Otsu's threshold for histograms small enough to work out by hand.
#include "tests/unit/unit.h"
#include "tests/unit/view_pictures.h"

#include "kernels/levels/levels.h"

TEST(test_two_heaps_are_parted_at_the_end_of_the_lower)
{
    uint32_t histogram[256] = {0};

    // Every level from 10 on parts them alike, the first is taken: 11 and more is white.
    histogram[10] = 30;
    histogram[200] = 70;
    assert_int_equal(levels_otsu(histogram), 11);
}

TEST(test_three_heaps_are_parted_where_the_variance_is_largest)
{
    uint32_t histogram[256] = {0};

    // w0 w1 (m0 - m1)²: {0} {100, 110}: 1/3 2/3 105² = 2450; {0, 100} {110}: 2/3 1/3 60² = 800.
    histogram[0] = histogram[100] = histogram[110] = 5;
    assert_int_equal(levels_otsu(histogram), 1);
    // {0, 10} {100}: 2/3 1/3 95² = 2005; {0} {10, 100}: 1/3 2/3 55² = 672.
    histogram[110] = 0;
    histogram[10] = 5;
    assert_int_equal(levels_otsu(histogram), 11);
}

TEST(test_one_value_alone_is_not_parted)
{
    uint32_t histogram[256] = {[90] = 1000};

    assert_int_equal(levels_otsu(histogram), 1);
}

TEST(test_every_frame_has_a_threshold_of_its_own)
{
    const struct config_view settings = {.view = CONFIG_VIEW_BINARY,
                                         .norm = CONFIG_NORM_L1,
                                         .gain = 0.25,
                                         .threshold = CONFIG_THRESHOLD_OTSU};
    // A step of 8, then one of 80 beside it: gx is the step, gray beside the step too.
    static const struct {
        uint8_t pixels[9], expected[9];
    } frames[] = {
        {{0, 0, 0, 0, 8, 8, 8, 8, 8}, {0, 0, 0, 255, 255, 0, 0, 0, 0}},
        {{0, 0, 0, 0, 8, 8, 8, 88, 88}, {0, 0, 0, 0, 0, 0, 255, 255, 0}},
        {{0, 0, 0, 0, 8, 8, 8, 8, 8}, {0, 0, 0, 255, 255, 0, 0, 0, 0}},
    };
    struct frame *input = new_frame("YUYV", 9, 1, 3), *output;
    const struct view_setup setup = {.settings = &settings,
                                     .input = &input->layout,
                                     .output = VIEW_OUTPUT_EXACT,
                                     .allocator = frame_allocator_host()};
    struct view *view;

    assert_int_equal(view_new(&setup, NULL, &view), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(frames); i++) {
        for (unsigned x = 0; x < 9; x++)
            frame_plane(input, 0)[2 * (size_t)x] = frames[i].pixels[x];
        assert_int_equal(view_run(view, input, NULL, &output), 0);
        assert_row(output, 0, 0, frames[i].expected, 9);
        frame_unref(output);
    }
    view_free(view);
    frame_unref(input);
}

RUN_TESTS(NULL, NULL)
