// The blur by itself, on pictures whose blurred values are the weights.
#include "tests/unit/unit.h"

#include "kernels/graph/stages.h"
#include "kernels/stage/rows.h"

#include <string.h>

// Blurs a picture of `width` x `height` bytes in place.
static void blur(int side, uint8_t *picture, uint32_t width, uint32_t height)
{
    const struct stage_options options = {.blur = side};
    const struct frame_layout input = {.width = width, .height = height};
    const struct stage_setup setup = {.options = &options, .input = &input};
    uint8_t output[1024];
    struct stage stage;
    struct rows *rows;

    assert_true((size_t)width * height <= sizeof output);
    assert_int_equal(stage_init(&stage, stages_of_kind(STAGE_BLUR), &setup, NULL), 0);
    assert_int_equal(rows_new(&stage, 1, width, height, &rows), 0);
    rows_run(rows, picture, width, output, width, 0, height);
    memcpy(picture, output, (size_t)width * height);
    rows_free(rows);
    stage_finish(&stage);
}

TEST(test_a_dot_spreads_by_the_binomial_weights)
{
    uint8_t narrow[5][5] = {{0}, {0}, {0, 0, 255}}, wide[5][5] = {{0}, {0}, {0, 0, 255}};
    // 255 / 16 of 1 2 4, and 255 / 256 of 1 4 6 16 24 36, rounded.
    static const uint8_t narrow_expected[5][5] = {
        {0}, {0, 16, 32, 16}, {0, 32, 64, 32}, {0, 16, 32, 16}, {0}};
    static const uint8_t wide_expected[5][5] = {{1, 4, 6, 4, 1},
                                                {4, 16, 24, 16, 4},
                                                {6, 24, 36, 24, 6},
                                                {4, 16, 24, 16, 4},
                                                {1, 4, 6, 4, 1}};

    blur(3, narrow[0], 5, 5);
    assert_memory_equal(narrow, narrow_expected, sizeof narrow);
    blur(5, wide[0], 5, 5);
    assert_memory_equal(wide, wide_expected, sizeof wide);
}

TEST(test_halves_are_rounded_up)
{
    // 8 / 16 and 24 / 16 far from each other; 128 / 256 and 127 / 256.
    uint8_t narrow[3][7] = {{8, 0, 0, 0, 0, 0, 24}}, wide[5][5] = {{128}}, less[5][5] = {{127}};

    blur(3, narrow[0], 7, 3);
    assert_memory_equal(narrow[1], "\2\1\0\0\0\2\5", 7);
    blur(5, wide[0], 5, 5);
    assert_int_equal(wide[2][2], 1);
    blur(5, less[0], 5, 5);
    assert_int_equal(less[2][2], 0);
}

TEST(test_borders_are_replicated)
{
    static const struct {
        int side;
        uint8_t expected[2];
    } cases[] = {{3, {64, 191}}, {5, {80, 175}}}; // 255 * 1 / 4 and 3 / 4; 5 / 16 and 11 / 16

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        uint8_t across[2] = {0, 255}, down[2] = {0, 255};

        blur(cases[i].side, across, 2, 1);
        blur(cases[i].side, down, 1, 2);
        assert_memory_equal(across, cases[i].expected, 2);
        assert_memory_equal(down, cases[i].expected, 2);
    }
}

TEST(test_white_stays_white_at_every_width)
{
    for (uint32_t width = 1; width <= 200; width++) {
        for (int side = 3; side <= 5; side += 2) {
            uint8_t picture[400], white[400];

            memset(picture, 255, sizeof picture);
            memset(white, 255, sizeof white);
            blur(side, picture, width, 2);
            assert_memory_equal(picture, white, sizeof white);
        }
    }
}

RUN_TESTS(NULL, NULL)
