// The split view: both pictures whole and in their places, in one range, and what it refuses.
#include "tests/unit/unit.h"
#include "tests/unit/view_pictures.h"

#include <errno.h>

#define SPLIT(left_, right_)                                                                       \
    {                                                                                              \
        .view = CONFIG_VIEW_SPLIT, .norm = CONFIG_NORM_L2, .gain = 1, .left = (char *)(left_),     \
        .right = (char *)(right_)                                                                  \
    }

static const struct config_view camera_edges = SPLIT("camera", "edges");

TEST(test_both_pictures_are_whole_with_a_black_column_between_odd_ones)
{
    // Limited range: 16 + 219 m / 255 on the right, black is 16. Full: m itself, black is 0.
    static const struct {
        enum frame_range range;
        const uint8_t *right;
        uint8_t black;
    } cases[] = {{FRAME_RANGE_LIMITED, ramp_l2_luma, 16}, {FRAME_RANGE_FULL, ramp_l2, 0}};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct frame *input = new_ramp("NV12", 5), *output;

        set_row(input, 1, 0, "\1\2\3\4");
        set_row(input, 1, 1, "\5\6\7\10");
        input->layout.range = cases[i].range;
        output = compute(&camera_edges, input, VIEW_OUTPUT_STREAM);
        assert_int_equal(output->layout.width, 7);
        assert_int_equal(output->layout.height, 3);
        assert_int_equal(output->layout.range, cases[i].range);
        for (uint32_t y = 0; y < 3; y++) {
            const uint8_t *row = frame_plane(output, 0) + y * output->layout.planes[0].stride;

            assert_memory_equal(row, ramp + (size_t)3 * y, 3);
            assert_int_equal(row[3], cases[i].black);
            assert_memory_equal(row + 4, cases[i].right + (size_t)3 * y, 3);
        }
        assert_row(output, 1, 0, "\1\2\3\4\200\200\200\200", 8);
        assert_row(output, 1, 1, "\5\6\7\10\200\200\200\200", 8);
        frame_unref(output);
    }
}

TEST(test_exact_pictures_are_rgb_without_a_gap)
{
    struct frame *output = compute(&camera_edges, new_ramp("GREY", 2), VIEW_OUTPUT_EXACT);

    assert_string_equal(output->layout.format->name, "RGB3");
    assert_int_equal(output->layout.width, 6);
    for (uint32_t i = 0; i < 9; i++) {
        const uint8_t *row = frame_plane(output, 0) + i / 3 * output->layout.planes[0].stride;
        const uint8_t left[] = {ramp[i], ramp[i], ramp[i]};
        const uint8_t right[] = {ramp_l2[i], ramp_l2[i], ramp_l2[i]};

        assert_memory_equal(row + (size_t)3 * (i % 3), left, 3);
        assert_memory_equal(row + 9 + (size_t)3 * (i % 3), right, 3);
    }
    frame_unref(output);
}

// Gray that gets brighter to the right is red in the direction view: in full range JFIF has 76 85
// 255 of it, BT.709 54 99 255.
TEST(test_computed_colour_beside_full_range_is_full_range_of_its_matrix)
{
    static const struct {
        uint32_t matrix;
        const char *luma, *chroma;
    } cases[] = {{COLOUR_BT601, "\0\114\114\0\0\0\377\377", "\200\200\125\377\200\200\200\200"},
                 {COLOUR_BT709, "\0\66\66\0\0\0\377\377", "\200\200\143\377\200\200\200\200"}};
    const struct config_view settings = SPLIT("direction", "gray");

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct frame *input = new_frame("GREY", 4, 2, 0), *output;

        input->layout.colour.matrix = cases[i].matrix;
        set_row(input, 0, 0, "\0\0\377\377");
        set_row(input, 0, 1, "\0\0\377\377");
        output = compute(&settings, input, VIEW_OUTPUT_STREAM);
        assert_int_equal(output->layout.range, FRAME_RANGE_FULL);
        assert_int_equal(output->layout.colour.matrix, cases[i].matrix);
        assert_row(output, 0, 0, cases[i].luma, 8);
        assert_row(output, 0, 1, cases[i].luma, 8);
        assert_row(output, 1, 0, cases[i].chroma, 8);
        frame_unref(output);
    }
}

TEST(test_a_side_may_be_another_view_with_its_own_keys)
{
    struct config_view settings = SPLIT("gray", "mine");
    static const struct config_view mine = EDGES(CONFIG_NORM_L1, 0.0125);
    struct frame *output;

    settings.right_view = &mine;
    output = compute(&settings, new_ramp("GREY", 0), VIEW_OUTPUT_EXACT);
    for (uint32_t i = 0; i < 9; i++) {
        assert_int_equal(
            frame_plane(output,
                        0)[i / 3 * output->layout.planes[0].stride + 9 + (size_t)3 * (i % 3)],
            ramp_half[i]);
    }
    frame_unref(output);
}

TEST(test_each_side_has_the_mask_of_its_own_view)
{
    static struct config_point left_column[] = {{0, 0}, {0.4, 0}, {0.4, 1}, {0, 1}};
    const struct config_view mine = {
        .view = CONFIG_VIEW_GRAY, .polygon = left_column, .polygon_count = 4};
    struct config_view settings = SPLIT("gray", "mine");
    struct frame *output;

    settings.right_view = &mine;
    output = compute(&settings, new_ramp("GREY", 0), VIEW_OUTPUT_EXACT);
    for (uint32_t i = 0; i < 9; i++) {
        const uint8_t *row =
            frame_plane(output, 0) + i / 3 * output->layout.planes[0].stride + (size_t)3 * (i % 3);

        assert_int_equal(row[0], ramp[i]);
        assert_int_equal(row[9], i % 3 == 0 ? ramp[i] : 0); // of which 0.5 < 1.2 alone is inside
    }
    frame_unref(output);
}

TEST(test_what_cannot_be_beside_each_other_is_refused)
{
    static const struct config_view inner = SPLIT("camera", "edges");
    struct config_view nested = SPLIT("camera", "inner");
    static const struct config_view missing = SPLIT("cammera", "edges");
    const struct {
        const struct config_view *settings;
        const char *format;
        uint32_t width;
        enum view_output output;
        int code;
        const char *text;
    } cases[] = {
        {&missing, "GREY", 4, VIEW_OUTPUT_STREAM, -ENOENT, "left: got \"cammera\", allowed: "},
        {&nested, "GREY", 4, VIEW_OUTPUT_STREAM, -ENOENT, "right: got \"inner\", allowed: "},
        {&camera_edges, "GREY", 2049, VIEW_OUTPUT_STREAM, -ENOTSUP, "encoders take 4096"},
        {&camera_edges, "NV12", 4, VIEW_OUTPUT_EXACT, -ENOTSUP, "left: no conversion of NV12"},
    };

    nested.right_view = &inner;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct frame_layout layout;
        struct view *view = NULL;
        struct error error = {0};
        const struct view_setup setup = {.settings = cases[i].settings,
                                         .input = &layout,
                                         .output = cases[i].output,
                                         .allocator = frame_allocator_host()};

        frame_layout_init(&layout, pixel_format_by_name(cases[i].format), cases[i].width, 2, 1);
        assert_int_equal(view_new(&setup, &error, &view), cases[i].code);
        assert_non_null(strstr(error.text, cases[i].text));
        assert_null(view);
    }
}

RUN_TESTS(NULL, NULL)
