// The canny view against pictures worked by hand, and its memory failing in turn.
#include "tests/unit/unit.h"

#include "kernels/graph/view.h"

#include <errno.h>
#include <string.h>

static long allocations_left = -1; // until one fails; negative: none fails

static void *fail_calloc(size_t count, size_t size)
{
    return allocations_left >= 0 && allocations_left-- == 0 ? NULL : calloc(count, size);
}

static void *fail_aligned_alloc(size_t alignment, size_t size)
{
    return allocations_left >= 0 && allocations_left-- == 0 ? NULL : aligned_alloc(alignment, size);
}

// The two that allocate, as they are but for their allocators.
#define calloc fail_calloc
#define aligned_alloc fail_aligned_alloc
#include "kernels/canny/canny.c"
#undef CACHE_LINE
#include "kernels/canny/hysteresis.c"
#undef calloc
#undef aligned_alloc

#define SIDE 12

// Draws `pixels` of `width` x `height` in `format`, of which only luma counts.
static struct frame *draw(const char *format, uint32_t width, uint32_t height,
                          const uint8_t *pixels)
{
    const struct pixel_format *pixel_format = pixel_format_by_name(format);
    struct frame_layout layout;
    struct frame_pool *pool;
    struct frame *frame;

    frame_layout_init(&layout, pixel_format, width, height, 1);
    assert_int_equal(frame_pool_new(&layout, 1, frame_allocator_host(), &pool), 0);
    frame = frame_pool_take(pool);
    frame_pool_unref(pool);
    memset(frame->data, 0xee, layout.size);
    for (uint32_t i = 0; i < width * height; i++) {
        uint8_t *row = frame_plane(frame, 0) + i / width * layout.planes[0].stride;

        if (pixel_format->luma_step) {
            row[pixel_format->luma_offset + i % width * pixel_format->luma_step] = pixels[i];
        } else {
            memset(row + (size_t)(i % width) * pixel_format->planes[0].bytes, pixels[i],
                   pixel_format->planes[0].bytes);
        }
    }
    return frame;
}

static struct frame *find(struct frame *input, double low, double high, enum view_output kind)
{
    const struct config_view settings = {.view = CONFIG_VIEW_CANNY, .low = low, .high = high};
    const struct view_setup setup = {.settings = &settings,
                                     .input = &input->layout,
                                     .output = kind,
                                     .frames = 1,
                                     .allocator = frame_allocator_host()};
    struct frame *output;
    struct view *view;

    assert_int_equal(view_new(&setup, NULL, &view), 0);
    assert_int_equal(view_run(view, input, NULL, &output), 0);
    view_free(view);
    frame_unref(input);
    return output;
}

static uint8_t at(const struct frame *frame, uint32_t x, uint32_t y)
{
    return frame_plane(frame, 0)[y * frame->layout.planes[0].stride + x];
}

// A step whose height goes down from row to row: 0 left of column 4, 100 - 10 y from there on.
static struct frame *draw_fading_step(const char *format)
{
    uint8_t pixels[7 * 8];

    for (int i = 0; i < 7 * 8; i++)
        pixels[i] = (uint8_t)(i % 8 < 4 ? 0 : 100 - 10 * (i / 8));
    return draw(format, 8, 7, pixels);
}

// n of column 4, larger than those of columns 3 and 5: gx is 4 (100 - 10 y), of which the first
// row lacks 10 and the last has 10 more; gy is -60, -30 in these two rows.
TEST(test_an_edge_is_followed_down_to_the_low_threshold)
{
    static const int32_t n[7] = {153000, 133200, 106000, 82000, 61200, 43600, 29800};
    static const struct {
        double low, high;
        int rows; // that show the edge
    } cases[] = {{100, 390, 7}, {390, 100, 7}, {250, 390, 4},    {100, 392, 0},
                 {350, 350, 2}, {0, 40000, 0}, {390, 391.15, 1}, {390, 391.16, 0}};

    assert_true(391.15 * 391.15 < n[0] && 391.16 * 391.16 > n[0]);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct frame *output =
            find(draw_fading_step("GREY"), cases[i].low, cases[i].high, VIEW_OUTPUT_EXACT);

        assert_string_equal(output->layout.format->name, "GREY");
        for (uint32_t y = 0; y < 7; y++) {
            for (uint32_t x = 0; x < 8; x++)
                assert_int_equal(at(output, x, y), x == 4 && (int)y < cases[i].rows ? 255 : 0);
        }
        frame_unref(output);
    }
}

TEST(test_a_threshold_is_over_not_at)
{
    // The step of 100 has gx 400 on both of its sides; the left one wins.
    static const uint8_t pixels[6] = {0, 0, 0, 100, 100, 100};
    static const struct {
        double low, high;
        uint8_t expected;
    } cases[] = {{399, 399.99, 255}, {399, 400, 0}, {400, 400, 0}, {0, 399, 255}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct frame *output =
            find(draw("GREY", 6, 1, pixels), cases[i].low, cases[i].high, VIEW_OUTPUT_EXACT);
        const uint8_t expected[6] = {0, 0, cases[i].expected, 0, 0, 0};

        assert_memory_equal(frame_plane(output, 0), expected, 6);
        frame_unref(output);
        output = find(draw("GREY", 1, 6, pixels), cases[i].low, cases[i].high, VIEW_OUTPUT_EXACT);
        for (uint32_t y = 0; y < 6; y++)
            assert_int_equal(at(output, 0, y), expected[y]);
        frame_unref(output);
    }
}

// 100 where x + y >= 11: along the diagonal of x + y = 8 … 14, gx = gy = 0, 100, 300, 300, 100, 0,
// and both sides of the middle are larger than what lies two further on. Mirrored, gx is negative.
TEST(test_diagonal_edges_are_compared_across_corners)
{
    for (int mirrored = 0; mirrored < 2; mirrored++) {
        uint8_t pixels[SIDE * SIDE];
        struct frame *output;

        for (int i = 0; i < SIDE * SIDE; i++) {
            int x = mirrored ? SIDE - 1 - i % SIDE : i % SIDE;

            pixels[i] = x + i / SIDE >= 11 ? 100 : 0;
        }
        output = find(draw("GREY", SIDE, SIDE, pixels), 50, 150, VIEW_OUTPUT_EXACT);
        for (int y = 2; y < SIDE - 2; y++) {
            for (int x = 2; x < SIDE - 2; x++) {
                int sum = (mirrored ? SIDE - 1 - x : x) + y;

                assert_int_equal(at(output, (uint32_t)x, (uint32_t)y),
                                 sum == 10 || sum == 11 ? 255 : 0);
            }
        }
        frame_unref(output);
    }
}

TEST(test_every_format_gives_the_same_edges_in_limited_range)
{
    static const char *const names[] = {"GREY", "NV12", "NV21", "YU12", "422P", "444P",
                                        "YUYV", "UYVY", "RGB3", "BGR3", "XR24"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct frame *output = find(draw_fading_step(names[i]), 100, 390, VIEW_OUTPUT_STREAM);

        assert_string_equal(output->layout.format->name, "NV12");
        assert_int_equal(output->layout.range, FRAME_RANGE_LIMITED);
        for (uint32_t y = 0; y < 7; y++) {
            for (uint32_t x = 0; x < 8; x++)
                assert_int_equal(at(output, x, y), x == 4 ? 235 : 16);
        }
        for (size_t y = 0; y < 4; y++) {
            assert_memory_equal(frame_plane(output, 1) + y * output->layout.planes[1].stride,
                                "\200\200\200\200\200\200\200\200", 8);
        }
        frame_unref(output);
    }
}

TEST(test_limits_are_squares_rounded_down)
{
    static const struct {
        double low, high;
        int32_t low_limit, high_limit;
    } cases[] = {{50, 150, 2500, 22500},
                 {150, 50, 2500, 22500},
                 {0, 0.9, 0, 0},
                 {1.5, 2.5, 2, 6},
                 {1442, 1443, 2079364, SUPPRESS_REACH},
                 {32767, 40000, SUPPRESS_REACH, SUPPRESS_REACH}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct suppress_limits limits = canny_limits(cases[i].low, cases[i].high);

        assert_int_equal(limits.low, cases[i].low_limit);
        assert_int_equal(limits.high, cases[i].high_limit);
    }
}

static void assert_limits(const uint32_t histogram[256], int32_t low, int32_t high)
{
    struct suppress_limits limits = canny_limits_by_median(histogram);

    assert_int_equal(limits.low, low);
    assert_int_equal(limits.high, high);
}

TEST(test_limits_by_the_median_are_two_and_four_thirds_of_it)
{
    uint32_t histogram[256] = {0};

    // One pixel of 100: 67 and 133, which floats of 1 - 0.33 make 66.
    histogram[100] = 1;
    assert_limits(histogram, 67 * 67, 133 * 133);
    // Of an even number the mean of the two in the middle, 100.5: 67.3 and 133.7.
    histogram[101] = 1;
    assert_limits(histogram, 67 * 67, 133 * 133);
    // 100, 101, 200, 255: 150.5, so 100.8 and 200.2.
    histogram[200] = histogram[255] = 1;
    assert_limits(histogram, 100 * 100, 200 * 200);
    // Mostly 201: 134.7, and 267.3 is limited.
    histogram[201] = 9;
    assert_limits(histogram, 134 * 134, 255 * 255);
    // Mostly black: every edge.
    histogram[0] = 100;
    assert_limits(histogram, 0, 0);
    // More pixels of white than 32 bits can count twice.
    histogram[255] = UINT32_MAX;
    assert_limits(histogram, 170 * 170, 255 * 255);
}

TEST(test_a_canny_view_without_memory_fails_cleanly)
{
    const struct config_view settings = {.view = CONFIG_VIEW_CANNY, .low = 50, .high = 150};
    struct frame *input = draw_fading_step("YUYV");
    const struct view_setup setup = {
        .settings = &settings, .input = &input->layout, .allocator = frame_allocator_host()};
    struct view *view = NULL;
    long failures = 0;
    int r;

    do {
        struct error error = {0};

        allocations_left = failures;
        r = view_new(&setup, &error, &view);
        if (r < 0) {
            assert_int_equal(r, -ENOMEM);
            assert_non_null(strstr(error.text, "no memory for a canny view"));
            assert_null(view);
            failures++;
        }
    } while (r < 0);
    assert_true(failures >= 7);
    allocations_left = -1;
    view_free(view);
    frame_unref(input);
}

RUN_TESTS(NULL, NULL)
