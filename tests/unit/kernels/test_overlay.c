// The overlay view: which pixels get the colour, and what the colour is in YUV, by the numbers of
// BT.601, BT.709 and JFIF.
#include "tests/unit/unit.h"
#include "tests/unit/view_pictures.h"

#include "kernels/convert/colour.h"

#define OVERLAY(colour_)                                                                           \
    {                                                                                              \
        .view = CONFIG_VIEW_OVERLAY, .norm = CONFIG_NORM_L1, .gain = 1, .threshold = 80,           \
        .colour = (char *)(colour_)                                                                \
    }

static const struct config_view green = OVERLAY("#00ff00");

// A step of 20 between columns 2 and 3 of 5, so |gx| is 80 there, and of 19 between rows 1 and 2.
// A dot of 10 in a corner makes 30 and less.
static const uint8_t step_x[15] = {10, 10, 10, 30, 30, 10, 10, 10, 30, 30, 10, 10, 10, 30, 30};
static const uint8_t step_y[15] = {10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 29, 29, 29, 29, 29};

static struct frame *new_gray(const uint8_t pixels[15])
{
    struct frame *frame = new_frame("GREY", 5, 3, 3);

    for (uint32_t y = 0; y < 3; y++)
        set_row(frame, 0, y, pixels + (size_t)y * 5);
    return frame;
}

TEST(test_edges_at_least_as_strong_as_the_threshold_get_the_colour)
{
    const struct config_view purple = OVERLAY("#8000Ff");
    static const uint8_t expected[] = {10,  10,  10, 10,  10, 10, 128, 0,
                                       255, 128, 0,  255, 30, 30, 30};
    struct frame *output = compute(&purple, new_gray(step_x), VIEW_OUTPUT_EXACT);

    assert_string_equal(output->layout.format->name, "RGB3");
    for (uint32_t y = 0; y < 3; y++)
        assert_row(output, 0, y, expected, sizeof expected);
    frame_unref(output);
    output = compute(&purple, new_gray(step_y), VIEW_OUTPUT_EXACT);
    for (uint32_t i = 0; i < 15; i++) {
        const uint8_t gray = step_y[i], pixel[3] = {gray, gray, gray};

        assert_memory_equal(frame_plane(output, 0) + i / 5 * output->layout.planes[0].stride +
                                (size_t)(3 * (i % 5)),
                            pixel, 3);
    }
    frame_unref(output);
}

TEST(test_colours_in_yuv_are_those_of_the_standards)
{
    // BT.601: OpenCV's COLOR_RGB2YUV_I420; JFIF rounded, blue's U and red's V are 255.5. BT.709: as
    // its section 3 has it, worked by hand.
    static const struct {
        uint8_t rgb[3];
        struct colour_yuv of[2][2]; // BT.601, BT.709; limited, full
    } cases[] = {
        {{0, 0, 0}, {{{16, 128, 128}, {0, 128, 128}}, {{16, 128, 128}, {0, 128, 128}}}},
        {{255, 255, 255}, {{{235, 128, 128}, {255, 128, 128}}, {{235, 128, 128}, {255, 128, 128}}}},
        {{255, 0, 0}, {{{82, 90, 240}, {76, 85, 255}}, {{63, 102, 240}, {54, 99, 255}}}},
        {{0, 255, 0}, {{{145, 54, 34}, {150, 44, 21}}, {{173, 42, 26}, {182, 30, 12}}}},
        {{0, 0, 255}, {{{41, 240, 110}, {29, 255, 107}}, {{32, 240, 118}, {18, 255, 116}}}},
        {{255, 255, 0}, {{{210, 16, 146}, {226, 1, 149}}, {{219, 16, 138}, {237, 1, 140}}}},
        {{64, 128, 192}, {{{116, 166, 95}, {116, 171, 91}}, {{118, 163, 97}, {119, 167, 93}}}},
    };

    for (size_t i = 0; i < 4 * ARRAY_LENGTH(cases); i++) {
        const struct colour_space space = colour_space_of(
            colour_matrix_number(i & 2 ? COLOUR_BT709 : COLOUR_BT601), (enum frame_range)(i & 1));
        struct colour_yuv yuv = colour_to_yuv(&space, cases[i / 4].rgb);

        assert_memory_equal(&yuv, &cases[i / 4].of[i >> 1 & 1][i & 1], sizeof yuv);
    }
}

// Luma wherever an edge is; chroma only where one is at the top left pixel of two by two.
TEST(test_a_stream_has_the_colour_by_matrix_and_range_of_the_picture)
{
    static const struct {
        enum frame_range range;
        struct frame_colour colour;
        uint8_t rows[5], chroma[6];
    } cases[] = {
        {FRAME_RANGE_LIMITED, {6, 6, 6}, {10, 10, 145, 145, 30}, {90, 91, 54, 34, 94, 95}},
        {FRAME_RANGE_FULL, {1, 13, 6}, {10, 10, 150, 150, 30}, {90, 91, 44, 21, 94, 95}},
        {FRAME_RANGE_LIMITED, {1, 1, 1}, {10, 10, 173, 173, 30}, {90, 91, 42, 26, 94, 95}},
        {FRAME_RANGE_FULL, {1, 1, 1}, {10, 10, 182, 182, 30}, {90, 91, 30, 12, 94, 95}},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct frame *input = new_frame("NV12", 5, 3, 7), *output;

        input->layout.range = cases[i].range;
        input->layout.colour = cases[i].colour;
        for (uint32_t y = 0; y < 3; y++) {
            set_row(input, 0, y, step_x);
            set_row(input, 1, y / 2, (uint8_t[]){90, 91, 92, 93, 94, 95});
        }
        output = compute(&green, input, VIEW_OUTPUT_STREAM);
        assert_string_equal(output->layout.format->name, "NV12");
        assert_int_equal(output->layout.range, cases[i].range);
        assert_true(frame_colour_equal(output->layout.colour, cases[i].colour));
        for (uint32_t y = 0; y < 3; y++) {
            assert_row(output, 0, y, cases[i].rows, 5);
            assert_row(output, 1, y / 2, cases[i].chroma, 6);
        }
        frame_unref(output);
    }
}

static void fill_noise(struct frame *frame)
{
    uint32_t noise = 7;

    for (size_t i = 0; i < frame->layout.size; i++) {
        noise = noise * 1664525 + 1013904223;
        frame->data[i] = (uint8_t)(noise >> 24);
    }
}

static void paint_by_hand(struct frame *camera, const struct frame *mask, struct colour_yuv colour)
{
    for (uint32_t y = 0; y < mask->layout.height; y++) {
        const uint8_t *set = frame_plane(mask, 0) + y * mask->layout.planes[0].stride;
        uint8_t *luma = frame_plane(camera, 0) + y * camera->layout.planes[0].stride;
        uint8_t *chroma = frame_plane(camera, 1) + y / 2 * camera->layout.planes[1].stride;

        for (uint32_t x = 0; x < mask->layout.width; x++) {
            luma[x] = set[x] ? colour.y : luma[x];
            if (set[x] && x % 2 == 0 && y % 2 == 0) {
                chroma[x] = colour.u;
                chroma[x + 1] = colour.v;
            }
        }
    }
}

TEST(test_every_format_is_the_camera_view_with_the_edges_of_the_binary_view)
{
    static const char *const names[] = {"GREY", "NV12", "NV21", "YU12", "422P", "444P",
                                        "YUYV", "UYVY", "RGB3", "BGR3", "XR24"};
    const struct config_view binary = {.view = CONFIG_VIEW_BINARY,
                                       .op = CONFIG_OPERATOR_SCHARR,
                                       .gain = 0.1,
                                       .blur = 3,
                                       .threshold = 90};
    struct config_view overlay = binary;

    overlay.view = CONFIG_VIEW_OVERLAY;
    overlay.colour = (char *)"#00ff00";
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        for (uint32_t size = 1; size < 40; size += 3) {
            struct frame *input = new_frame(names[i], size, size + 1, 9);
            struct frame *mask, *camera, *output;

            fill_noise(input);
            input->layout.range = FRAME_RANGE_LIMITED;
            mask = compute(&binary, frame_ref(input), VIEW_OUTPUT_EXACT);
            output = compute(&overlay, frame_ref(input), VIEW_OUTPUT_STREAM);
            camera = compute(&camera_view, input, VIEW_OUTPUT_STREAM);
            paint_by_hand(camera, mask, (struct colour_yuv){145, 54, 34});
            for (uint32_t y = 0; y < size + 1; y++) {
                assert_row(output, 0, y,
                           frame_plane(camera, 0) + y * camera->layout.planes[0].stride, size);
                assert_row(output, 1, y / 2,
                           frame_plane(camera, 1) + y / 2 * camera->layout.planes[1].stride,
                           camera->layout.planes[1].width_bytes);
            }
            frame_unref(mask);
            frame_unref(camera);
            frame_unref(output);
        }
    }
}

RUN_TESTS(NULL, NULL)
