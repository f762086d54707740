// Views against values worked by hand, and OpenCV's colour conversions quoted as numbers.
#include "unit.h"
#include "view_harness.h"

#include <errno.h>
#include <string.h>

#define EDGES(norm_, gain_)                                                                        \
    {                                                                                              \
        .view = CONFIG_VIEW_EDGES, .norm = (norm_), .gain = (gain_)                                \
    }

static const struct config_view camera_view = {.view = CONFIG_VIEW_CAMERA};
static const struct config_view gray_view = {.view = CONFIG_VIEW_GRAY};
static const struct config_view edges_view = EDGES(CONFIG_NORM_L2, 1.0);
static const struct config_view edges_l1_view = EDGES(CONFIG_NORM_L1, 1.0);
static const struct config_view edges_half_view = EDGES(CONFIG_NORM_L1, 0.0125);

// The plane 10 + 10 x + 30 y. Inside, gx is 8 * 10 and gy 8 * 30; in a border column gx is half of
// that, in a border row gy.
static const uint8_t ramp[9] = {10, 20, 30, 40, 50, 60, 70, 80, 90};
static const uint8_t ramp_l2[9] = {126, 144, 126, 243, 253, 243, 126, 144, 126};
static const uint8_t ramp_l1[9] = {160, 200, 160, 255, 255, 255, 160, 200, 160};
// 0.0125 of the sums 160, 200, 280, 320: 2, 2.5, 3.5, 4, halves to even.
static const uint8_t ramp_half[9] = {2, 2, 2, 4, 4, 4, 2, 2, 2};
// 16 + 219 m / 255 rounded, of ramp_l2.
static const uint8_t ramp_l2_luma[9] = {124, 140, 124, 225, 233, 225, 124, 140, 124};

static void assert_pixels(const struct frame *frame, const uint8_t *expected)
{
    for (uint32_t y = 0; y < 3; y++) {
        assert_row(frame, 0, y, expected + (size_t)3 * y, 3);
    }
}

// The ramp as luma of any YUV format.
static struct frame *new_ramp(const char *name, size_t padding)
{
    struct frame *frame = new_frame(name, 3, 3, padding);
    const struct pixel_format *format = frame->layout.format;

    for (uint32_t i = 0; i < 9; i++) {
        frame_plane(frame, 0)[i / 3 * frame->layout.planes[0].stride + format->luma_offset +
                              i % 3 * format->luma_step] = ramp[i];
    }
    return frame;
}

static void test_edges_of_a_ramp_are_as_worked_by_hand(void **state)
{
    static const struct {
        const struct config_view *settings;
        const uint8_t *expected;
    } cases[] = {{&edges_view, ramp_l2}, {&edges_l1_view, ramp_l1}, {&edges_half_view, ramp_half}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct frame *output = compute(cases[i].settings, new_ramp("GREY", 0), VIEW_OUTPUT_EXACT);

        assert_string_equal(output->layout.format->name, "GREY");
        assert_pixels(output, cases[i].expected);
        frame_unref(output);
    }
}

static void test_every_luma_format_gives_the_same_edges(void **state)
{
    static const char *const names[] = {"GREY", "NV12", "NV21", "YU12",
                                        "422P", "444P", "YUYV", "UYVY"};

    (void)state;
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

static void test_every_rgb_format_gives_the_same_gray(void **state)
{
    // OpenCV: gray 124 and 46; 219 / 255 of them are 106.5 - 0.01 and 39.5 + 0.01, plus 16.
    // 0.0)
    static const struct {
        const char *name;
        uint8_t pixels[8];
    } cases[] = {{"RGB3", {200, 100, 50, 17, 33, 190}},
                 {"BGR3", {50, 100, 200, 190, 33, 17}},
                 {"XR24", {50, 100, 200, 255, 190, 33, 17, 0}}};

    (void)state;
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

static void test_limited_range_rounds_all_256_values(void **state)
{
    struct frame *input = new_frame("RGB3", 256, 1, 0), *output;

    (void)state;
    for (int m = 0; m < 256; m++) {
        memset(frame_plane(input, 0) + (size_t)3 * (size_t)m, m, 3);
    }
    output = compute(&gray_view, input, VIEW_OUTPUT_STREAM);
    for (int m = 0; m < 256; m++) {
        assert_int_equal(frame_plane(output, 0)[m], 16 + (219 * m + 127) / 255);
    }
    frame_unref(output);
}

static void test_the_gray_view_keeps_a_cameras_luma_and_range(void **state)
{
    static const char *const names[] = {"GREY", "NV12", "YU12", "YUYV", "UYVY"};

    (void)state;
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

// What 3x3 cameras deliver as chroma, and what NV12 makes of it: two rows of two pairs.
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

static void test_the_camera_view_converts_every_yuv_format(void **state)
{
    (void)state;
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

static void test_the_camera_view_converts_rgb_as_opencv_does(void **state)
{
    // cv2.cvtColor(…, COLOR_RGB2YUV_I420): 200 100 50 is 123 91 175, the others 18, 20, 23.
    static const struct {
        const char *name;
        uint8_t rows[2][8];
    } cases[] = {{"RGB3", {{200, 100, 50, 1, 2, 3}, {4, 5, 6, 7, 8, 9}}},
                 {"BGR3", {{50, 100, 200, 3, 2, 1}, {6, 5, 4, 9, 8, 7}}},
                 {"XR24", {{50, 100, 200, 0, 3, 2, 1, 0}, {6, 5, 4, 0, 9, 8, 7, 0}}}};

    (void)state;
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

static void test_what_needs_no_work_is_the_same_frame(void **state)
{
    static const struct {
        const struct config_view *settings;
        const char *format;
        enum view_output kind;
        bool same;
    } cases[] = {
        {&camera_view, "NV12", VIEW_OUTPUT_STREAM, true},
        {&camera_view, "RGB3", VIEW_OUTPUT_EXACT, true},
        {&camera_view, "GREY", VIEW_OUTPUT_EXACT, true},
        {&gray_view, "GREY", VIEW_OUTPUT_EXACT, true},
        {&gray_view, "NV12", VIEW_OUTPUT_STREAM, false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct frame *input = new_frame(cases[i].format, 4, 4, 1);
        struct frame *output = compute(cases[i].settings, frame_ref(input), cases[i].kind);

        assert_int_equal(output == input, cases[i].same);
        frame_unref(output);
        frame_unref(input);
    }
}

static void test_a_picture_carries_its_times_and_number(void **state)
{
    struct frame *input = new_ramp("YUYV", 0), *output;

    (void)state;
    input->pts_ns = 11;
    input->grabbed_ns = 22;
    input->sequence = 33;
    output = compute(&edges_view, input, VIEW_OUTPUT_STREAM);
    assert_int_equal(output->pts_ns, 11);
    assert_int_equal(output->grabbed_ns, 22);
    assert_int_equal(output->sequence, 33);
    frame_unref(output);
}

static void test_a_view_without_free_frames_drops_until_one_comes_back(void **state)
{
    struct frame *input = new_ramp("GREY", 0), *outputs[3] = {NULL};
    const struct view_setup setup = {.settings = &edges_view,
                                     .input = &input->layout,
                                     .frames = 2,
                                     .allocator = frame_allocator_host()};
    struct view *view;

    (void)state;
    assert_int_equal(view_new(&setup, NULL, &view), 0);
    assert_string_equal(view_backend(view), "CPU");
    assert_int_equal(view_run(view, input, NULL, &outputs[0]), 0);
    assert_int_equal(view_run(view, input, NULL, &outputs[1]), 0);
    assert_int_equal(view_run(view, input, NULL, &outputs[2]), -ENOBUFS);
    assert_null(outputs[2]);
    frame_unref(outputs[0]);
    assert_int_equal(view_run(view, input, NULL, &outputs[2]), 0);
    view_free(view);
    assert_pixels(outputs[1], ramp_l2_luma);
    frame_unref(outputs[1]);
    frame_unref(outputs[2]);
    frame_unref(input);
}

static void test_a_conversion_nobody_has_is_refused_by_name(void **state)
{
    struct frame *input = new_ramp("YUYV", 0);
    const struct view_setup setup = {.settings = &camera_view,
                                     .input = &input->layout,
                                     .output = VIEW_OUTPUT_EXACT,
                                     .allocator = frame_allocator_host()};
    struct error error = {0};
    struct view *view = NULL;

    (void)state;
    assert_int_equal(view_new(&setup, &error, &view), -ENOTSUP);
    assert_string_equal(error.text, "no conversion of YUYV pictures to RGB3");
    assert_null(view);
    frame_unref(input);
}

static int refuse_memory(void *context, size_t size, void **ret_memory)
{
    (void)context;
    (void)size;
    (void)ret_memory;
    return -ENOMEM;
}

static void test_a_view_without_memory_fails_cleanly(void **state)
{
    const struct frame_allocator allocator = {.kind = "none", .allocate = refuse_memory};
    const struct config_view *const views[] = {&camera_view, &gray_view, &edges_half_view};
    struct frame *input = new_ramp("YUYV", 0);
    struct view *view = NULL;

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(views); i++) {
        const struct view_setup setup = {
            .settings = views[i], .input = &input->layout, .frames = 3, .allocator = &allocator};
        struct error error = {0};

        assert_int_equal(view_new(&setup, &error, &view), -ENOMEM);
        assert_string_equal(error.text, "no memory for 3 output frames of 3x3");
        assert_null(view);
    }
    view_free(NULL);
    frame_unref(input);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edges_of_a_ramp_are_as_worked_by_hand),
        cmocka_unit_test(test_every_luma_format_gives_the_same_edges),
        cmocka_unit_test(test_every_rgb_format_gives_the_same_gray),
        cmocka_unit_test(test_limited_range_rounds_all_256_values),
        cmocka_unit_test(test_the_gray_view_keeps_a_cameras_luma_and_range),
        cmocka_unit_test(test_the_camera_view_converts_every_yuv_format),
        cmocka_unit_test(test_the_camera_view_converts_rgb_as_opencv_does),
        cmocka_unit_test(test_what_needs_no_work_is_the_same_frame),
        cmocka_unit_test(test_a_picture_carries_its_times_and_number),
        cmocka_unit_test(test_a_view_without_free_frames_drops_until_one_comes_back),
        cmocka_unit_test(test_a_conversion_nobody_has_is_refused_by_name),
        cmocka_unit_test(test_a_view_without_memory_fails_cleanly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
