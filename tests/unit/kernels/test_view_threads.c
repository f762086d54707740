// Every view computed by several threads equals the same computed by one, bit for bit, whatever the
// size. What one thread computes is held against OpenCV and hand-worked values elsewhere.
#include "tests/unit/view_pictures.h"

#include <stdio.h>

#define THREADS_MAX 5
#define FRAMES 3
// A sanitizer takes twenty times as long, and looks at the same code with every number of threads.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define THREADS_STEP 3
#else
#define THREADS_STEP 1
#endif

static const struct config_view views[] = {
    {.view = CONFIG_VIEW_CAMERA},
    {.view = CONFIG_VIEW_GRAY},
    EDGES(CONFIG_NORM_L2, 1.0),
    EDGES(CONFIG_NORM_L1, 1.0),
    EDGES(CONFIG_NORM_L2, 1.5),
    EDGES(CONFIG_NORM_L1, 0.3),
    {.view = CONFIG_VIEW_EDGES, .op = CONFIG_OPERATOR_SOBEL5, .gain = 1.0, .blur = 5},
    {.view = CONFIG_VIEW_EDGES, .op = CONFIG_OPERATOR_SCHARR, .gain = 1.0, .blur = 3},
    {.view = CONFIG_VIEW_BINARY, .gain = 1.0, .threshold = 80},
    {.view = CONFIG_VIEW_BINARY,
     .gain = 1.0,
     .threshold = 60,
     .morphology = CONFIG_MORPHOLOGY_CLOSE,
     .times = 8},
    {.view = CONFIG_VIEW_BINARY,
     .gain = 1.0,
     .threshold = CONFIG_THRESHOLD_OTSU,
     .morphology = CONFIG_MORPHOLOGY_OPEN,
     .times = 1},
    {.view = CONFIG_VIEW_CANNY, .low = 50, .high = 150},
    {.view = CONFIG_VIEW_CANNY, .low = 10, .high = 900},
    {.view = CONFIG_VIEW_MOTION, .threshold = 25},
    {.view = CONFIG_VIEW_MOTION, .threshold = 25, .erode = 3},
    {.view = CONFIG_VIEW_MOTION, .threshold = CONFIG_THRESHOLD_OTSU, .erode = 1},
};

static const char *const formats[] = {"GREY", "NV12", "YUYV", "422P", "RGB3", "XR24"};

static const struct {
    uint32_t width, height;
} sizes[] = {{1, 1}, {1, 97}, {131, 3}, {67, 33}, {33, 163}, {129, 301}};

// Shapes with noise on them, so that edges hang together over many rows; number `n` of a sequence.
static void draw(struct frame *frame, unsigned n)
{
    size_t stride = frame->layout.planes[0].stride;
    uint32_t noise = n + 1;

    for (size_t i = 0; i < frame->layout.size; i++) {
        size_t x = i % stride, y = i / stride;

        noise = noise * 1664525 + 1013904223;
        frame->data[i] =
            (uint8_t)(((x + 5 * (size_t)n) / 23 + y / 31) % 3 * 90 + (noise >> 24) % 40);
    }
}

static struct view *new_view(const struct config_view *settings, const struct frame_layout *input,
                             enum view_output kind, struct pool *pool)
{
    const struct view_setup setup = {.settings = settings,
                                     .input = input,
                                     .output = kind,
                                     .frames = 1,
                                     .allocator = frame_allocator_host(),
                                     .pool = pool};
    struct view *view = NULL;

    return view_new(&setup, NULL, &view) == 0 ? view : NULL;
}

// Both see the same frames; a conversion that there is none of is left out by both.
static unsigned check_view(const struct config_view *settings, struct frame *input,
                           enum view_output kind, struct pool *pool)
{
    struct view *one = new_view(settings, &input->layout, kind, NULL);
    struct view *several = new_view(settings, &input->layout, kind, pool);

    assert_int_equal(one == NULL, several == NULL);
    for (unsigned n = 0; n < FRAMES && one; n++) {
        struct frame *expected, *output;

        draw(input, n);
        assert_int_equal(view_run(one, input, NULL, &expected), 0);
        assert_int_equal(view_run(several, input, NULL, &output), 0);
        assert_same_picture(expected, output);
        frame_unref(expected);
        frame_unref(output);
    }
    view_free(several);
    view_free(one);
    return one != NULL;
}

static unsigned check_size(uint32_t width, uint32_t height, struct pool *pool)
{
    unsigned compared = 0;

    for (size_t f = 0; f < ARRAY_LENGTH(formats); f++) {
        struct frame *input = new_frame(formats[f], width, height, 3);

        for (size_t v = 0; v < ARRAY_LENGTH(views); v++) {
            compared += check_view(&views[v], input, VIEW_OUTPUT_STREAM, pool);
            compared += check_view(&views[v], input, VIEW_OUTPUT_EXACT, pool);
        }
        frame_unref(input);
    }
    return compared;
}

TEST(test_every_view_is_the_same_by_any_number_of_threads)
{
    for (unsigned threads = 1; threads <= THREADS_MAX; threads += THREADS_STEP) {
        struct pool *pool;

        assert_int_equal(pool_new(threads, NULL, &pool), 0);
        assert_int_equal(pool_threads(pool), threads);
        for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
            // All but the camera's and motion's exact pictures of YUV, which nobody converts.
            assert_true(check_size(sizes[i].width, sizes[i].height, pool) > 150);
        }
        pool_free(pool);
    }
}

TEST(test_views_of_one_camera_take_turns_with_its_threads)
{
    struct frame *input = new_frame("NV12", 129, 301, 0), *outputs[4][2];
    struct view *one[4], *several[4];
    struct pool *pool;

    assert_int_equal(pool_new(3, NULL, &pool), 0);
    for (size_t i = 0; i < 4; i++) {
        one[i] = new_view(&views[2 + 3 * i], &input->layout, VIEW_OUTPUT_STREAM, NULL);
        several[i] = new_view(&views[2 + 3 * i], &input->layout, VIEW_OUTPUT_STREAM, pool);
    }
    for (unsigned n = 0; n < 20; n++) {
        draw(input, n);
        for (size_t i = 0; i < 4; i++) {
            assert_int_equal(view_run(one[i], input, NULL, &outputs[i][0]), 0);
            assert_int_equal(view_run(several[i], input, NULL, &outputs[i][1]), 0);
        }
        for (size_t i = 0; i < 4; i++) {
            assert_same_picture(outputs[i][0], outputs[i][1]);
            frame_unref(outputs[i][0]);
            frame_unref(outputs[i][1]);
        }
    }
    for (size_t i = 0; i < 4; i++) {
        view_free(one[i]);
        view_free(several[i]);
    }
    pool_free(pool);
    frame_unref(input);
}

RUN_TESTS(NULL, NULL)
