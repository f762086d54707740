// The gradient's operators on small pictures, against values worked by hand.
#include "unit.h"
#include "view_harness.h"

static void test_each_operator_weighs_the_neighbours_of_a_dot(void **state)
{
    // A dot of 10, and 10 times |gx| + |gy| around it: of the weights in gradient.h, by hand.
    static const struct {
        enum config_operator operator;
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

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct config_view settings = {.view = CONFIG_VIEW_EDGES,
                                             .operator= cases[i].operator,
                                             .norm = CONFIG_NORM_L1,
                                             .gain = 1.0};
        struct frame *input = new_frame("GREY", 5, 5, 3), *output;

        for (uint32_t y = 0; y < 5; y++) {
            set_row(input, 0, y, y == 2 ? "\0\0\12\0\0" : "\0\0\0\0\0");
        }
        output = compute(&settings, input, VIEW_OUTPUT_EXACT);
        for (uint32_t y = 0; y < 5; y++) {
            assert_row(output, 0, y, cases[i].expected[y], 5);
        }
        frame_unref(output);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_operator_weighs_the_neighbours_of_a_dot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
