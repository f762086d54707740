// Cells of pictures in every format against their definition, made here from gray.
#include "tests/unit/view_pictures.h"

#include "kernels/cells/cells.h"
#include "kernels/gray/gray.h"

TEST(test_there_are_at_most_160_by_90_cells_of_the_same_side)
{
    static const struct {
        uint32_t width, height, side, columns, rows;
    } cases[] = {{16, 16, 1, 16, 16},       {160, 90, 1, 160, 90},     {161, 90, 2, 81, 45},
                 {640, 360, 4, 160, 90},    {640, 480, 6, 107, 80},    {768, 576, 7, 110, 83},
                 {1280, 720, 8, 160, 90},   {1920, 1080, 12, 160, 90}, {3840, 2160, 24, 160, 90},
                 {1080, 1920, 12, 90, 160}, {8192, 8192, 92, 90, 90},  {8192, 16, 52, 158, 1},
                 {16, 8192, 52, 1, 158}};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct cell_grid grid = cell_grid_of(cases[i].width, cases[i].height);

        assert_int_equal(grid.side, cases[i].side);
        assert_int_equal(grid.columns, cases[i].columns);
        assert_int_equal(grid.rows, cases[i].rows);
    }
}

// The mean of one cell, by the definition.
static uint32_t mean_of(const struct frame *frame, uint32_t side, uint32_t column, uint32_t row)
{
    const struct frame_layout *layout = &frame->layout;
    uint32_t sum = 0, count = 0;
    uint8_t line[1000];

    for (uint32_t y = row * side; y < (row + 1) * side && y < layout->height; y++) {
        gray_row_for(layout->format)(frame_plane(frame, 0) + y * layout->planes[0].stride,
                                     layout->width, line);
        for (uint32_t x = column * side; x < (column + 1) * side && x < layout->width; x++) {
            sum += line[x];
            count++;
        }
    }
    return (sum + count / 2) / count;
}

static void check(const char *format, uint32_t width, uint32_t height, size_t padding)
{
    struct frame *frame = new_frame(format, width, height, padding);
    struct cell_grid grid = cell_grid_of(width, height);
    uint32_t noise = width + height;
    struct cells *cells;
    const uint8_t *means;

    for (size_t i = 0; i < frame->layout.size; i++) {
        noise = noise * 1664525 + 1013904223;
        frame->data[i] = (uint8_t)(noise >> (i / 3000 % 2 ? 24 : 28) | (i / 700 % 3) << 6);
    }
    assert_int_equal(cells_new(&frame->layout, NULL, NULL, NULL, &cells), 0);
    assert_true(cells_fit(cells, &frame->layout, NULL));
    assert_int_equal(cells_begin(cells, frame, NULL), 0);
    assert_int_equal(cells_end(cells, frame, NULL, &means), 0);
    for (uint32_t y = 0; y < grid.rows; y++) {
        for (uint32_t x = 0; x < grid.columns; x++)
            assert_int_equal(means[y * grid.columns + x], mean_of(frame, grid.side, x, y));
    }
    cells_free(cells);
    frame_unref(frame);
}

TEST(test_a_cell_is_the_rounded_mean_of_its_pixels)
{
    static const char *const formats[] = {"GREY", "NV12", "NV21", "YU12", "422P", "444P",
                                          "YUYV", "UYVY", "RGB3", "BGR3", "XR24"};
    static const uint32_t sizes[][2] = {{1, 1},    {3, 2},    {160, 90}, {162, 91}, {333, 100},
                                        {640, 36}, {642, 95}, {46, 500}, {1000, 7}, {998, 600}};

    for (size_t f = 0; f < ARRAY_LENGTH(formats); f++) {
        for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++)
            check(formats[f], sizes[i][0], sizes[i][1], i % 3 * 5);
    }
}

TEST(test_white_cells_of_any_side_do_not_overflow)
{
    struct frame *frame = new_frame("GREY", 8192, 8192, 0);
    struct cells *cells;
    const uint8_t *means;

    memset(frame->data, 255, frame->layout.size);
    assert_int_equal(cells_new(&frame->layout, NULL, NULL, NULL, &cells), 0);
    assert_int_equal(cells_end(cells, frame, NULL, &means), 0);
    for (size_t i = 0; i < (size_t)90 * 90; i++)
        assert_int_equal(means[i], 255);
    cells_free(cells);
    frame_unref(frame);
}

RUN_TESTS(NULL, NULL)
