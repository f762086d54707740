// The gradient's operators on small pictures, against values worked by hand.
#include "tests/unit/unit.h"
#include "tests/unit/view_pictures.h"

TEST(test_each_operator_weighs_the_neighbours_of_a_dot)
{
    // A dot of 10, and 10 times |gx| + |gy| around it: of the weights in gradient.h, by hand.
    static const struct {
        enum config_operator op;
        uint8_t expected[5][5];
    } cases[] = {
        {CONFIG_OPERATOR_SOBEL, {{0}, {0, 20, 20, 20}, {0, 20, 0, 20}, {0, 20, 20, 20}, {0}}},
        {CONFIG_OPERATOR_SCHARR, {{0}, {0, 60, 100, 60}, {0, 100, 0, 100}, {0, 60, 100, 60}, {0}}},
        {CONFIG_OPERATOR_PREWITT, {{0}, {0, 20, 10, 20}, {0, 10, 0, 10}, {0, 20, 10, 20}, {0}}},
        {CONFIG_OPERATOR_SOBEL5,
         {{20, 60, 60, 60, 20},
          {60, 160, 120, 160, 60},
          {60, 120, 0, 120, 60},
          {60, 160, 120, 160, 60},
          {20, 60, 60, 60, 20}}},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct config_view settings = {
            .view = CONFIG_VIEW_EDGES, .op = cases[i].op, .norm = CONFIG_NORM_L1, .gain = 1.0};
        struct frame *input = new_frame("GREY", 5, 5, 3), *output;

        for (uint32_t y = 0; y < 5; y++)
            set_row(input, 0, y, y == 2 ? "\0\0\12\0\0" : "\0\0\0\0\0");
        output = compute(&settings, input, VIEW_OUTPUT_EXACT);
        for (uint32_t y = 0; y < 5; y++)
            assert_row(output, 0, y, cases[i].expected[y], 5);
        frame_unref(output);
    }
}

TEST(test_binary_is_white_from_the_threshold_on)
{
    // The bends of 0, 10, 30, 60: gx is 4 times 10, 30, 50, 30.
    static const struct {
        int threshold;
        const char *expected;
    } cases[] = {{1, "\377\377\377\377"}, {40, "\377\377\377\377"}, {41, "\0\377\377\377"},
                 {120, "\0\377\377\377"}, {121, "\0\0\377\0"},      {200, "\0\0\377\0"},
                 {201, "\0\0\0\0"}};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct config_view settings = {
            .view = CONFIG_VIEW_BINARY, .gain = 1.0, .threshold = cases[i].threshold};
        struct frame *input = new_frame("GREY", 4, 1, 0), *output;

        set_row(input, 0, 0, "\0\12\36\74");
        output = compute(&settings, frame_ref(input), VIEW_OUTPUT_EXACT);
        assert_string_equal(output->layout.format->name, "GREY");
        assert_row(output, 0, 0, cases[i].expected, 4);
        frame_unref(output);
        frame_unref(input);
    }
}

TEST(test_a_binary_stream_is_limited_black_and_white)
{
    const struct config_view settings = {.view = CONFIG_VIEW_BINARY, .gain = 1.0, .threshold = 121};
    struct frame *input = new_frame("NV12", 4, 1, 0), *output;

    set_row(input, 0, 0, "\0\12\36\74");
    output = compute(&settings, input, VIEW_OUTPUT_STREAM);
    assert_int_equal(output->layout.range, FRAME_RANGE_LIMITED);
    assert_row(output, 0, 0, "\20\20\353\20", 4);
    assert_row(output, 1, 0, "\200\200\200\200", 4);
    frame_unref(output);
}

RUN_TESTS(NULL, NULL)
