// Views against values worked by hand, and OpenCV's colour conversions quoted as numbers.
#include "tests/unit/view_pictures.h"

TEST(test_edges_of_a_ramp_are_as_worked_by_hand)
{
    static const struct {
        const struct config_view *settings;
        const uint8_t *expected;
    } cases[] = {{&edges_view, ramp_l2}, {&edges_l1_view, ramp_l1}, {&edges_half_view, ramp_half}};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct frame *output = compute(cases[i].settings, new_ramp("GREY", 0), VIEW_OUTPUT_EXACT);

        assert_string_equal(output->layout.format->name, "GREY");
        assert_pixels(output, cases[i].expected);
        frame_unref(output);
    }
}

TEST(test_every_luma_format_gives_the_same_edges)
{
    static const char *const names[] = {"GREY", "NV12", "NV21", "YU12",
                                        "422P", "444P", "YUYV", "UYVY"};

    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        for (size_t padding = 0; padding < 80; padding += 13) {
            struct frame *output =
                compute(&edges_view, new_ramp(names[i], padding), VIEW_OUTPUT_STREAM);

            assert_string_equal(output->layout.format->name, "NV12");
            assert_int_equal(output->layout.range, FRAME_RANGE_LIMITED);
            assert_pixels(output, ramp_l2_luma);
            assert_row(output, 1, 0, "\200\200\200\200", 4);
            assert_row(output, 1, 1, "\200\200\200\200", 4);
            frame_unref(output);
        }
    }
}

TEST(test_every_rgb_format_gives_the_same_gray)
{
    // OpenCV: gray 124 and 46; 219 / 255 of them are 106.5 - 0.01 and 39.5 + 0.01, plus 16.
    // 0.0)
    static const struct {
        const char *name;
        uint8_t pixels[8];
    } cases[] = {{"RGB3", {200, 100, 50, 17, 33, 190}},
                 {"BGR3", {50, 100, 200, 190, 33, 17}},
                 {"XR24", {50, 100, 200, 255, 190, 33, 17, 0}}};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct frame *input = new_frame(cases[i].name, 2, 1, 5), *output;

        set_row(input, 0, 0, cases[i].pixels);
        output = compute(&gray_view, frame_ref(input), VIEW_OUTPUT_EXACT);
        assert_row(output, 0, 0, (uint8_t[]){124, 46}, 2);
        frame_unref(output);
        output = compute(&gray_view, input, VIEW_OUTPUT_STREAM);
        assert_row(output, 0, 0, (uint8_t[]){122, 56}, 2);
        assert_int_equal(output->layout.range, FRAME_RANGE_LIMITED);
        frame_unref(output);
    }
}

TEST(test_limited_range_rounds_all_256_values)
{
    struct frame *input = new_frame("RGB3", 256, 1, 0), *output;

    for (int m = 0; m < 256; m++)
        memset(frame_plane(input, 0) + (size_t)3 * (size_t)m, m, 3);
    output = compute(&gray_view, input, VIEW_OUTPUT_STREAM);
    for (int m = 0; m < 256; m++)
        assert_int_equal(frame_plane(output, 0)[m], 16 + (219 * m + 127) / 255);
    frame_unref(output);
}

TEST(test_the_gray_view_keeps_a_cameras_luma_and_range)
{
    static const char *const names[] = {"GREY", "NV12", "YU12", "YUYV", "UYVY"};

    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        for (int range = FRAME_RANGE_LIMITED; range <= FRAME_RANGE_FULL; range++) {
            struct frame *input = new_ramp(names[i], 3), *output;

            input->layout.range = (enum frame_range)range;
            output = compute(&gray_view, input, VIEW_OUTPUT_STREAM);
            assert_pixels(output, ramp);
            assert_row(output, 1, 1, "\200\200\200\200", 4);
            assert_int_equal(output->layout.range, range);
            frame_unref(output);
        }
    }
}

// The chroma that 3x3 cameras deliver, and NV12's chroma made of it: two rows of two pairs.
static const struct {
    const char *format;
    const char *planes[3]; // rows one behind the other
    const char *chroma;
} camera_cases[] = {
    {"YU12", {NULL, "\1\2\3\4", "\5\6\7\10"}, "\1\5\2\6\3\7\4\10"},
    {"NV21", {NULL, "\5\1\6\2\7\3\10\4"}, "\1\5\2\6\3\7\4\10"},
    // Three rows of two pairs: 0 and 1 average with halves up, 2 stands alone.
    {"YUYV",
     {"\12\1\24\2\36\3\36\4\50\2\62\3\74\7\74\4\106\11\120\12\132\13\132\14"},
     "\2\3\5\4\11\12\13\14"},
    {"UYVY",
     {"\1\12\2\24\3\36\4\36\2\50\3\62\7\74\4\74\11\106\12\120\13\132\14\132"},
     "\2\3\5\4\11\12\13\14"},
    {"422P", {NULL, "\1\3\2\7\11\13", "\2\4\3\4\12\14"}, "\2\3\5\4\11\12\13\14"},
    // (1 + 2 + 3 + 4 + 2) / 4 = 3, (5 + 8 + 1) / 2 = 7, (9 + 9 + 11 + 11 + 2) / 4 …
    {"444P",
     {NULL, "\1\2\5\3\4\10\11\13\15", "\24\24\24\24\24\24\24\24\24"},
     "\3\24\7\24\12\24\15\24"},
    {"GREY", {NULL}, "\200\200\200\200\200\200\200\200"},
};

TEST(test_the_camera_view_converts_every_yuv_format)
{
    for (size_t i = 0; i < ARRAY_LENGTH(camera_cases); i++) {
        struct frame *input = new_ramp(camera_cases[i].format, 7), *output;

        for (unsigned plane = 0; plane < 3; plane++) {
            size_t bytes = input->layout.planes[plane].width_bytes;

            for (uint32_t y = 0;
                 camera_cases[i].planes[plane] && y < input->layout.planes[plane].rows; y++) {
                set_row(input, plane, y, camera_cases[i].planes[plane] + y * bytes);
            }
        }
        output = compute(&camera_view, input, VIEW_OUTPUT_STREAM);
        assert_pixels(output, ramp);
        assert_row(output, 1, 0, camera_cases[i].chroma, 4);
        assert_row(output, 1, 1, camera_cases[i].chroma + 4, 4);
        frame_unref(output);
    }
}

TEST(test_the_camera_view_converts_rgb_as_opencv_does)
{
    // cv2.cvtColor(…, COLOR_RGB2YUV_I420): 200 100 50 is 123 91 175, the others 18, 20, 23.
    static const struct {
        const char *name;
        uint8_t rows[2][8];
    } cases[] = {{"RGB3", {{200, 100, 50, 1, 2, 3}, {4, 5, 6, 7, 8, 9}}},
                 {"BGR3", {{50, 100, 200, 3, 2, 1}, {6, 5, 4, 9, 8, 7}}},
                 {"XR24", {{50, 100, 200, 0, 3, 2, 1, 0}, {6, 5, 4, 0, 9, 8, 7, 0}}}};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct frame *input = new_frame(cases[i].name, 2, 2, 9), *output;

        set_row(input, 0, 0, cases[i].rows[0]);
        set_row(input, 0, 1, cases[i].rows[1]);
        output = compute(&camera_view, frame_ref(input), VIEW_OUTPUT_STREAM);
        assert_row(output, 0, 0, (uint8_t[]){123, 18}, 2);
        assert_row(output, 0, 1, (uint8_t[]){20, 23}, 2);
        assert_row(output, 1, 0, (uint8_t[]){91, 175}, 2);
        assert_int_equal(output->layout.range, FRAME_RANGE_LIMITED);
        frame_unref(output);
        output = compute(&camera_view, input, VIEW_OUTPUT_EXACT);
        assert_string_equal(output->layout.format->name, "RGB3");
        assert_row(output, 0, 1, (uint8_t[]){4, 5, 6, 7, 8, 9}, 6);
        frame_unref(output);
    }
}

RUN_TESTS(NULL, NULL)
