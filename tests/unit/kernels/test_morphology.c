// Erosion and dilation by themselves, on shapes drawn by hand.
#include "tests/unit/unit.h"

#include "kernels/graph/stages.h"
#include "kernels/stage/rows.h"

#include <string.h>

#define WIDTH 7
#define HEIGHT 5

// '#' is 200, '.' is 100, so that neither is the end of the range.
static void run(enum stage_kind kind, int times, const char *const rows_in[HEIGHT],
                const char *const expected[HEIGHT])
{
    const struct stage_options options = {.times = times};
    const struct frame_layout input = {.width = WIDTH, .height = HEIGHT};
    const struct stage_setup setup = {.options = &options, .input = &input};
    uint8_t picture[HEIGHT][WIDTH], output[HEIGHT][WIDTH];
    struct stage stage;
    struct rows *rows;

    for (int i = 0; i < HEIGHT * WIDTH; i++)
        picture[i / WIDTH][i % WIDTH] = rows_in[i / WIDTH][i % WIDTH] == '#' ? 200 : 100;
    assert_int_equal(stage_init(&stage, stages_of_kind(kind), &setup, NULL), 0);
    assert_int_equal(rows_new(&stage, 1, WIDTH, HEIGHT, &rows), 0);
    rows_run(rows, picture[0], WIDTH, output[0], WIDTH, 0, HEIGHT);
    rows_free(rows);
    stage_finish(&stage);
    for (int i = 0; i < HEIGHT * WIDTH; i++) {
        assert_int_equal(output[i / WIDTH][i % WIDTH],
                         expected[i / WIDTH][i % WIDTH] == '#' ? 200 : 100);
    }
}

TEST(test_erosion_takes_the_rim_but_not_at_the_border)
{
    static const char *const shape[] = {"####...", "####...", "####.##", "####.##", "......."};
    static const char *const once[] = {"###....", "###....", "###....", ".......", "......."};
    static const char *const twice[] = {"##.....", "##.....", ".......", ".......", "......."};

    run(STAGE_ERODE, 1, shape, once);
    run(STAGE_ERODE, 2, shape, twice);
    run(STAGE_ERODE, 1, once, twice);
}

TEST(test_dilation_adds_a_rim_that_ends_at_the_border)
{
    static const char *const dots[] = {".......", ".......", "......#", ".......", "#......"};
    static const char *const once[] = {".......", ".....##", ".....##", "##...##", "##....."};
    static const char *const twice[] = {"....###", "....###", "###.###", "###.###", "###.###"};

    run(STAGE_DILATE, 1, dots, once);
    run(STAGE_DILATE, 2, dots, twice);
    run(STAGE_DILATE, 1, once, twice);
}

TEST(test_eight_times_reach_eight_pixels)
{
    static const char *const dot[] = {"#......", ".......", ".......", ".......", "......."};
    static const char *const all[] = {"#######", "#######", "#######", "#######", "#######"};
    static const char *const none[] = {".......", ".......", ".......", ".......", "......."};

    run(STAGE_DILATE, 8, dot, all);
    run(STAGE_ERODE, 8, dot, none);
    run(STAGE_ERODE, 8, all, all);
}

RUN_TESTS(NULL, NULL)
