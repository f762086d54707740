// The direction view: every gradient's direction, and pictures whose colours are worked by hand.
#include "tests/unit/unit.h"
#include "tests/unit/view_pictures.h"

#include <math.h>

// The rows are static there.
#include "kernels/direction/direction.c"

#define REACH 1020

static const struct config_view direction_view = {
    .view = CONFIG_VIEW_DIRECTION, .norm = CONFIG_NORM_L2, .gain = 1};

// The definition that direction.c gives.
static unsigned direction_of(int gx, int gy)
{
    int sum = abs(gx) + abs(gy), least = sum > 0 ? sum : 1;

    return (unsigned)((2 * STEPS * gy + (2 * STEPS + 1) * least) / (2 * least)) + 256 * (gx < 0);
}

// Of all that Sobel's filters make, from the double's arctangent.
TEST(test_hues_are_half_a_degree_from_the_angle_of_any_gradient)
{
    double most = 0;

    for (int gy = -REACH; gy <= REACH; gy++) {
        for (int gx = -REACH; gx <= REACH; gx++) {
            double exact = atan2(gy, gx) * 180 / M_PI;
            double hue = hue_of(direction_of(gx, gy)) * 360.0 / HUES;
            double away = fabs(remainder(hue - exact, 360));

            most = (gx || gy) && away > most ? away : most;
        }
    }
    assert_true(most < 0.58 && most > 0.5);
}

TEST(test_rows_number_directions_as_the_definition_does)
{
    // The largest that sobel5 makes, where floats are coarsest, and all of a smaller square.
    static int16_t gx[2 * GRADIENT_REACH + 1], gy[2 * GRADIENT_REACH + 1];
    static uint16_t found[2 * GRADIENT_REACH + 1];
    const size_t width = 2 * GRADIENT_REACH + 1;

    for (int y = -GRADIENT_REACH; y <= GRADIENT_REACH; y += y < -300 || y >= 300 ? 199 : 1) {
        for (int x = -GRADIENT_REACH; x <= GRADIENT_REACH; x++) {
            gx[x + GRADIENT_REACH] = (int16_t)x;
            gy[x + GRADIENT_REACH] = (int16_t)y;
        }
        find_directions(gx, gy, width, found);
        for (size_t i = 0; i < width; i++)
            assert_int_equal(found[i], direction_of(gx[i], gy[i]));
    }
}

// The colour of the middle pixel of 3x3.
static const struct {
    uint8_t pixels[9], rgb[3], yuv[3];
} cases[] = {
    // To the right, down, to the left, up, and down right, where gx = gy.
    {{0, 0, 255, 0, 0, 255, 0, 0, 255}, {255, 0, 0}, {82, 90, 240}},
    {{0, 0, 0, 0, 0, 0, 255, 255, 255}, {128, 255, 0}, {177, 35, 90}},
    {{255, 0, 0, 255, 0, 0, 255, 0, 0}, {0, 255, 255}, {170, 166, 16}},
    {{255, 255, 255, 0, 0, 0, 0, 0, 0}, {128, 0, 255}, {74, 221, 166}},
    {{0, 50, 100, 50, 100, 150, 100, 150, 200}, {255, 191, 0}, {178, 35, 170}},
    // gx = 30, gy = 40, so 50; 72 of 126 steps: 53.13 degrees, hue 226.7.
    {{10, 10, 10, 10, 10, 20, 10, 25, 20}, {50, 44, 0}, {51, 108, 134}},
    {{77, 77, 77, 77, 77, 77, 77, 77, 77}, {0, 0, 0}, {16, 128, 128}},
};

static struct frame *new_case(size_t index)
{
    struct frame *frame = new_frame("GREY", 3, 3, 2);

    for (uint32_t y = 0; y < 3; y++)
        set_row(frame, 0, y, cases[index].pixels + (size_t)3 * y);
    return frame;
}

TEST(test_colours_are_as_worked_by_hand)
{
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct frame *output = compute(&direction_view, new_case(i), VIEW_OUTPUT_EXACT);

        assert_string_equal(output->layout.format->name, "RGB3");
        assert_memory_equal(frame_plane(output, 0) + output->layout.planes[0].stride + 3,
                            cases[i].rgb, 3);
        frame_unref(output);
        output = compute(&direction_view, new_case(i), VIEW_OUTPUT_STREAM);
        assert_string_equal(output->layout.format->name, "NV12");
        assert_int_equal(output->layout.range, FRAME_RANGE_LIMITED);
        assert_int_equal(frame_plane(output, 0)[output->layout.planes[0].stride + 1],
                         cases[i].yuv[0]);
        frame_unref(output);
    }
}

// The picture is 4x4, its middle pixel that of a case and even in x and y.
TEST(test_chroma_is_that_of_the_top_left_pixel)
{
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct frame *input = new_frame("GREY", 4, 4, 1), *output;

        for (uint32_t y = 0; y < 4; y++) {
            const uint8_t *row = cases[i].pixels + (size_t)3 * (y > 0 ? y - 1 : 0);

            set_row(input, 0, y, (uint8_t[]){row[0], row[0], row[1], row[2]});
        }
        output = compute(&direction_view, input, VIEW_OUTPUT_STREAM);
        assert_row(output, 0, 2, frame_plane(output, 0) + 2 * output->layout.planes[0].stride, 4);
        assert_int_equal(frame_plane(output, 0)[2 * output->layout.planes[0].stride + 2],
                         cases[i].yuv[0]);
        assert_memory_equal(frame_plane(output, 1) + output->layout.planes[1].stride + 2,
                            cases[i].yuv + 1, 2);
        frame_unref(output);
    }
}

TEST(test_a_stream_is_the_exact_picture_within_rounding)
{
    struct frame *input = new_frame("GREY", 61, 35, 3), *exact, *converted, *output;
    uint32_t noise = 3;

    for (size_t i = 0; i < input->layout.size; i++) {
        noise = noise * 1664525 + 1013904223;
        input->data[i] = (uint8_t)(noise >> 26);
    }
    exact = compute(&direction_view, frame_ref(input), VIEW_OUTPUT_EXACT);
    converted = compute(&camera_view, exact, VIEW_OUTPUT_STREAM);
    output = compute(&direction_view, input, VIEW_OUTPUT_STREAM);
    for (unsigned plane = 0; plane < 2; plane++) {
        for (uint32_t y = 0; y < output->layout.planes[plane].rows; y++) {
            const uint8_t *a = frame_plane(output, plane) + y * output->layout.planes[plane].stride;
            const uint8_t *b =
                frame_plane(converted, plane) + y * converted->layout.planes[plane].stride;

            for (uint32_t x = 0; x < output->layout.planes[plane].width_bytes; x++)
                assert_in_range(a[x] + 1 - b[x], 0, 2);
        }
    }
    frame_unref(converted);
    frame_unref(output);
}

RUN_TESTS(NULL, NULL)
