// The motion view: what counts as moved, by hand, and how its mark gets into YUV, by OpenCV's
// numbers.
#include "tests/unit/unit.h"
#include "tests/unit/view_pictures.h"

#define MOTION(threshold_, erode_)                                                                 \
    {                                                                                              \
        .view = CONFIG_VIEW_MOTION, .threshold = (threshold_), .erode = (erode_)                   \
    }

// The view's picture of the second of two pictures; both are dropped.
static struct frame *compare(const struct config_view *settings, struct frame *previous,
                             struct frame *input, enum view_output kind)
{
    const struct view_setup setup = {.settings = settings,
                                     .input = &input->layout,
                                     .output = kind,
                                     .frames = 2,
                                     .allocator = frame_allocator_host()};
    struct frame *first, *second;
    struct view *view;

    assert_int_equal(view_new(&setup, NULL, &view), 0);
    assert_int_equal(view_run(view, previous, NULL, &first), 0);
    assert_int_equal(view_run(view, input, NULL, &second), 0);
    assert_true(frame_layout_equal(view_output_layout(view), &second->layout));
    view_free(view);
    frame_unref(first);
    frame_unref(previous);
    frame_unref(input);
    return second;
}

static struct frame *new_gray(uint32_t width, uint32_t height, const uint8_t *pixels)
{
    struct frame *frame = new_frame("GREY", width, height, 5);

    for (uint32_t y = 0; y < height; y++)
        set_row(frame, 0, y, pixels + (size_t)y * width);
    return frame;
}

TEST(test_only_a_difference_over_the_threshold_is_motion)
{
    const struct config_view settings = MOTION(25, 0);
    static const uint8_t previous[] = {100, 100, 100, 100, 0, 255, 25};
    static const uint8_t current[] = {125, 126, 75, 74, 255, 0, 0};
    static const uint8_t expected[] = {125, 125, 125, 255, 63,  63, 75, 75, 75, 255, 37,
                                       37,  255, 127, 127, 255, 0,  0,  0,  0,  0};
    struct frame *output =
        compare(&settings, new_gray(7, 1, previous), new_gray(7, 1, current), VIEW_OUTPUT_EXACT);

    assert_string_equal(output->layout.format->name, "RGB3");
    assert_row(output, 0, 0, expected, sizeof expected);
    frame_unref(output);
}

TEST(test_erosion_takes_the_rim_and_spares_the_border)
{
    // Set: all but (3, 2), which takes its 3x3 along, and one time more its 5x5.
    static const struct {
        int erode;
        const char *rows[5];
    } cases[] = {{0, {"#######", "#######", "###.###", "#######", "#######"}},
                 {1, {"#######", "##...##", "##...##", "##...##", "#######"}},
                 {2, {"#.....#", "#.....#", "#.....#", "#.....#", "#.....#"}},
                 {3, {".......", ".......", ".......", ".......", "......."}}};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct config_view settings = MOTION(25, cases[i].erode);
        uint8_t previous[35] = {0}, current[35];
        struct frame *output;

        memset(current, 90, sizeof current);
        current[2 * 7 + 3] = 0;
        output = compare(&settings, new_gray(7, 5, previous), new_gray(7, 5, current),
                         VIEW_OUTPUT_EXACT);
        for (uint32_t p = 0; p < 35; p++) {
            const uint8_t *pixel =
                frame_plane(output, 0) + p / 7 * output->layout.planes[0].stride + p % 7 * 3;
            bool set = cases[i].rows[p / 7][p % 7] == '#';

            assert_int_equal(pixel[0], set ? 255 : current[p]);
            assert_int_equal(pixel[1], set ? current[p] / 2 : current[p]);
        }
        frame_unref(output);
    }
}

TEST(test_the_first_frame_has_not_moved_and_each_is_compared_with_the_last)
{
    static const uint8_t lumas[] = {200, 10, 10, 30, 60, 60};
    static const uint8_t reds[] = {200, 255, 10, 30, 255, 60};
    const struct config_view settings = MOTION(25, 1);
    struct frame *input = new_frame("GREY", 3, 3, 1), *output;
    const struct view_setup setup = {.settings = &settings,
                                     .input = &input->layout,
                                     .output = VIEW_OUTPUT_EXACT,
                                     .allocator = frame_allocator_host()};
    struct view *view;

    assert_int_equal(view_new(&setup, NULL, &view), 0);
    for (size_t i = 0; i < sizeof lumas; i++) {
        memset(input->data, lumas[i], input->layout.size);
        assert_int_equal(view_run(view, input, NULL, &output), 0);
        assert_int_equal(frame_plane(output, 0)[3], reds[i]);
        assert_int_equal(frame_plane(output, 0)[4], reds[i] == 255 ? lumas[i] / 2 : lumas[i]);
        frame_unref(output);
    }
    view_free(view);
    frame_unref(input);
}

// 2x2 pixels with the chroma U V, and the same with all of them moved, tinted and red.
struct yuv {
    enum frame_range range;
    uint32_t matrix;
    uint8_t luma[4], chroma[2], marked_luma[2][4], marked_chroma[2][2];
};

// Limited: cv2.COLOR_YUV2RGB_NV12, R = 255 and where it is tinted G and B halved,
// cv2.COLOR_RGB2YUV_I420. Full: JFIF's formulas in decimals; BT.709: its.
static const struct yuv yuv_cases[] = {
    {0,
     COLOUR_BT601,
     {16, 235, 128, 126},
     {128, 128},
     {{82, 158, 121, 120}, {82, 235, 160, 159}},
     {{90, 240}, {90, 240}}},
    {0,
     COLOUR_BT601,
     {81, 81, 90, 200},
     {90, 240},
     {{82, 82, 84, 123}, {82, 82, 87, 165}},
     {{90, 240}, {90, 240}}},
    {0,
     COLOUR_BT601,
     {145, 40, 160, 210},
     {54, 34},
     {{146, 115, 146, 149}, {210, 149, 212, 218}},
     {{53, 193}, {16, 146}}},
    {0,
     COLOUR_BT601,
     {41, 16, 0, 255},
     {240, 110},
     {{94, 93, 93, 156}, {107, 104, 104, 232}},
     {{146, 231}, {202, 222}}},
    {0,
     COLOUR_BT601,
     {235, 100, 50, 180},
     {0, 255},
     {{132, 93, 82, 116}, {183, 104, 82, 151}},
     {{61, 203}, {31, 166}}},
    {0,
     COLOUR_BT601,
     {90, 120, 30, 60},
     {255, 0},
     {{129, 138, 112, 121}, {178, 195, 142, 160}},
     {{126, 205}, {161, 170}}},
    {1,
     COLOUR_BT601,
     {145, 40, 160, 210},
     {54, 34},
     {{147, 115, 152, 155}, {218, 154, 228, 235}},
     {{49, 205}, {13, 155}}},
    {1,
     COLOUR_BT601,
     {235, 100, 50, 180},
     {0, 255},
     {{132, 92, 77, 115}, {188, 107, 78, 154}},
     {{56, 216}, {27, 176}}},
    {1,
     COLOUR_BT601,
     {90, 120, 30, 60},
     {255, 0},
     {{131, 140, 114, 122}, {186, 204, 151, 169}},
     {{126, 216}, {167, 177}}},
    {0,
     COLOUR_BT709,
     {145, 40, 160, 210},
     {54, 34},
     {{129, 91, 135, 143}, {195, 120, 207, 224}},
     {{66, 197}, {29, 154}}},
    {0,
     COLOUR_BT709,
     {235, 100, 50, 180},
     {0, 255},
     {{128, 80, 63, 109}, {195, 98, 63, 155}},
     {{66, 197}, {30, 154}}},
    {1,
     COLOUR_BT709,
     {90, 120, 30, 60},
     {255, 0},
     {{108, 119, 87, 98}, {163, 184, 120, 141}},
     {{138, 221}, {178, 187}}},
};

// The picture, with the luma of pixels in `moved` (a bit each) far from what it is.
static struct frame *new_yuv(const struct yuv *yuv, unsigned moved)
{
    struct frame *frame = new_frame("NV12", 2, 2, 3);
    uint8_t luma[4];

    for (unsigned i = 0; i < 4; i++)
        luma[i] = (uint8_t)(yuv->luma[i] ^ (moved >> i & 1 ? 128 : 0));
    set_row(frame, 0, 0, luma);
    set_row(frame, 0, 1, luma + 2);
    set_row(frame, 1, 0, yuv->chroma);
    frame->layout.range = yuv->range;
    frame->layout.colour.matrix = yuv->matrix;
    return frame;
}

TEST(test_moved_pixels_of_yuv_get_the_luma_and_chroma_of_their_mark)
{
    for (size_t i = 0; i < 2 * ARRAY_LENGTH(yuv_cases); i++) {
        const struct yuv *yuv = &yuv_cases[i / 2];
        struct config_view settings = MOTION(25, 0);
        unsigned mark = settings.mark = i % 2 ? CONFIG_MARK_RED : CONFIG_MARK_TINT;

        for (unsigned moved = 0; moved < 16; moved++) {
            struct frame *output =
                compare(&settings, new_yuv(yuv, moved), new_yuv(yuv, 0), VIEW_OUTPUT_STREAM);

            assert_int_equal(output->layout.range, yuv->range);
            for (unsigned p = 0; p < 4; p++) {
                assert_int_equal(
                    frame_plane(output, 0)[p / 2 * output->layout.planes[0].stride + p % 2],
                    moved >> p & 1 ? yuv->marked_luma[mark][p] : yuv->luma[p]);
            }
            assert_row(output, 1, 0, moved & 1 ? yuv->marked_chroma[mark] : yuv->chroma, 2);
            frame_unref(output);
        }
    }
}

static uint32_t noise = 1;

static struct frame *new_noise(const char *format, uint32_t width, uint32_t height)
{
    struct frame *frame = new_frame(format, width, height, 7);

    for (size_t i = 0; i < frame->layout.size; i++) {
        noise = noise * 1664525 + 1013904223;
        frame->data[i] = (uint8_t)(noise >> 24);
    }
    return frame;
}

static void assert_equal_pictures(const struct frame *a, const struct frame *b)
{
    for (unsigned i = 0; i < a->layout.format->plane_count; i++) {
        for (uint32_t y = 0; y < a->layout.planes[i].rows; y++) {
            assert_row(a, i, y, frame_plane(b, i) + y * b->layout.planes[i].stride,
                       a->layout.planes[i].width_bytes);
        }
    }
}

TEST(test_other_yuv_moves_as_the_camera_view_of_it_does)
{
    static const char *const names[] = {"YU12", "NV21", "YUYV", "UYVY", "422P", "444P", "GREY"};
    const struct config_view settings = MOTION(60, 1);

    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        for (uint32_t size = 1; size < 40; size += 3) {
            struct frame *pictures[] = {new_noise(names[i], size, size + 1),
                                        new_noise(names[i], size, size + 1)};
            struct frame *seen[2], *expected, *output;

            for (unsigned k = 0; k < 2; k++) {
                pictures[k]->layout.range = FRAME_RANGE_LIMITED;
                seen[k] = compute(&camera_view, frame_ref(pictures[k]), VIEW_OUTPUT_STREAM);
            }
            expected = compare(&settings, seen[0], seen[1], VIEW_OUTPUT_STREAM);
            output = compare(&settings, pictures[0], pictures[1], VIEW_OUTPUT_STREAM);
            assert_equal_pictures(output, expected);
            frame_unref(output);
            frame_unref(expected);
        }
    }
}

// Tinted and red where the 4 bytes a pixel of XR24 have it; so are those of the others.
TEST(test_rgb_is_marked_before_it_is_converted)
{
    static const struct {
        const char *name;
        enum config_mark mark;
        uint8_t previous[8], current[8], marked[8];
    } cases[] = {
        {"RGB3", CONFIG_MARK_RED, {0, 0, 0, 9, 9, 9}, {7, 99, 50, 9, 9, 9}, {255, 99, 50, 9, 9, 9}},
        {"BGR3", CONFIG_MARK_RED, {0, 0, 0, 9, 9, 9}, {50, 99, 7, 9, 9, 9}, {50, 99, 255, 9, 9, 9}},
        {"XR24",
         CONFIG_MARK_RED,
         {0, 0, 0, 1, 9, 9, 9, 2},
         {50, 99, 7, 3, 9, 9, 9, 4},
         {50, 99, 255, 5, 9, 9, 9, 6}},
        {"RGB3", CONFIG_MARK_TINT, {0}, {255, 255, 254, 9, 9, 9}, {255, 127, 127, 9, 9, 9}},
        {"BGR3", CONFIG_MARK_TINT, {0}, {50, 99, 7, 9, 9, 9}, {25, 49, 255, 9, 9, 9}},
        {"XR24", CONFIG_MARK_TINT, {0}, {50, 99, 7, 3, 9, 9, 9, 4}, {25, 49, 255, 5, 9, 9, 9, 6}},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct config_view settings = MOTION(25, 0);

        settings.mark = cases[i].mark;
        for (int kind = VIEW_OUTPUT_STREAM; kind <= VIEW_OUTPUT_EXACT; kind++) {
            struct frame *frames[3], *output, *expected;

            for (unsigned k = 0; k < 3; k++)
                frames[k] = new_frame(cases[i].name, 2, 1, 0);
            set_row(frames[0], 0, 0, cases[i].previous);
            set_row(frames[1], 0, 0, cases[i].current);
            set_row(frames[2], 0, 0, cases[i].marked);
            output = compare(&settings, frames[0], frames[1], (enum view_output)kind);
            expected = compute(&camera_view, frames[2], (enum view_output)kind);
            assert_equal_pictures(output, expected);
            frame_unref(output);
            frame_unref(expected);
        }
    }
}

RUN_TESTS(NULL, NULL)
