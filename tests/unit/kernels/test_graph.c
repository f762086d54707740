// Views that share stages, beside the same views that compute all by themselves.
#include "tests/unit/view_pictures.h"

#include "kernels/graph/graph.h"
#include "kernels/stage/pool.h"

#define VIEWS 9
#define FRAMES 24

static const struct config_view settings[VIEWS] = {
    {.view = CONFIG_VIEW_EDGES, .gain = 1.0},
    {.view = CONFIG_VIEW_EDGES, .gain = 1.0, .blur = 5},
    {.view = CONFIG_VIEW_BINARY, .gain = 1.0, .blur = 5, .threshold = CONFIG_THRESHOLD_OTSU},
    {.view = CONFIG_VIEW_BINARY,
     .gain = 1.0,
     .threshold = 80,
     .morphology = CONFIG_MORPHOLOGY_CLOSE,
     .times = 2},
    {.view = CONFIG_VIEW_CANNY, .low = 50, .high = 150},
    {.view = CONFIG_VIEW_CANNY, .low = 20, .high = 60, .blur = 5},
    {.view = CONFIG_VIEW_MOTION, .threshold = 25, .erode = 1},
    {.view = CONFIG_VIEW_EDGES, .gain = 1.0}, // the same once more
    {.view = CONFIG_VIEW_CAMERA},
};

struct bed {
    struct graph *graph;
    struct frame *input;
    struct view *views[VIEWS], *references[VIEWS];
};

static struct pool *pool; // of the views; NULL: none

static struct view *new_view(const struct bed *bed, size_t index, struct graph *graph)
{
    const struct view_setup setup = {.settings = &settings[index],
                                     .input = &bed->input->layout,
                                     .allocator = frame_allocator_host(),
                                     .pool = pool,
                                     .graph = graph};
    struct view *view;

    assert_int_equal(view_new(&setup, NULL, &view), 0);
    return view;
}

static void bed_init(struct bed *bed, const char *format, uint32_t width, uint32_t height)
{
    bed->input = new_frame(format, width, height, 5);
    assert_int_equal(graph_new(&bed->graph), 0);
    for (size_t i = 0; i < VIEWS; i++) {
        bed->views[i] = new_view(bed, i, bed->graph);
        bed->references[i] = new_view(bed, i, NULL);
    }
}

static void bed_finish(struct bed *bed)
{
    for (size_t i = 0; i < VIEWS; i++) {
        view_free(bed->views[i]);
        view_free(bed->references[i]);
    }
    graph_free(bed->graph);
    frame_unref(bed->input);
}

// Soft shapes that move a little from frame to frame, with noise.
static void draw(struct frame *frame, uint32_t number)
{
    uint32_t noise = number;

    for (size_t i = 0; i < frame->layout.size; i++) {
        noise = noise * 1664525 + 1013904223;
        frame->data[i] =
            (uint8_t)(((i + number * 3) / 11 % 5 ^ (i / 257 + number) % 7) * 31 + (noise >> 28));
    }
}

static void compare(const struct bed *bed, size_t index)
{
    struct frame *output, *expected;

    assert_int_equal(view_run(bed->views[index], bed->input, NULL, &output), 0);
    assert_int_equal(view_run(bed->references[index], bed->input, NULL, &expected), 0);
    assert_same_picture(output, expected);
    frame_unref(output);
    frame_unref(expected);
}

static void run_frame(const struct bed *bed, uint32_t number, uint32_t active)
{
    draw(bed->input, number);
    for (size_t i = 0; i < VIEWS; i++) {
        view_set_active(bed->views[i], active >> i & 1);
        view_set_active(bed->references[i], active >> i & 1);
    }
    graph_begin(bed->graph);
    for (size_t i = 0; i < VIEWS; i++) {
        if (active >> i & 1)
            compare(bed, i);
    }
}

TEST(test_pictures_are_the_same_whoever_else_is_watched)
{
    static const char *const formats[] = {"NV12", "YUYV", "BGR3", "GREY"};
    static const uint32_t sizes[][2] = {{1, 1}, {3, 2}, {64, 9}, {65, 33}, {131, 47}};
    uint32_t chance = 1;

    for (size_t f = 0; f < ARRAY_LENGTH(formats); f++) {
        for (size_t s = 0; s < ARRAY_LENGTH(sizes); s++) {
            struct bed bed;

            bed_init(&bed, formats[f], sizes[s][0], sizes[s][1]);
            for (uint32_t i = 0; i < FRAMES; i++) {
                chance = i % 3 == 0 ? chance * 1664525 + 1013904223 : chance;
                run_frame(&bed, i, chance >> 20);
            }
            bed_finish(&bed);
        }
    }
}

static void assert_count(const struct bed *bed, enum stage_kind kind, uint64_t runs,
                         uint64_t shared)
{
    const struct graph_count count = graph_count(bed->graph, kind);

    assert_int_equal(count.runs, runs);
    assert_int_equal(count.shared, shared);
}

TEST(test_what_views_have_in_common_is_computed_once)
{
    struct bed bed;

    bed_init(&bed, "YUYV", 64, 9);
    run_frame(&bed, 0, 1 << 0 | 1 << 3 | 1 << 4 | 1 << 6); // edges, binary, canny, motion
    assert_count(&bed, STAGE_GRAY, 2, 2);                  // motion shares nothing
    assert_count(&bed, STAGE_GRADIENT, 1, 1);
    assert_count(&bed, STAGE_THRESHOLD, 1, 0);
    assert_count(&bed, STAGE_CANNY, 1, 0);
    assert_count(&bed, STAGE_DIFFERENCE, 1, 0);
    assert_count(&bed, STAGE_COMPOSE, 3, 0);      // each view's own last step
    run_frame(&bed, 1, 1 << 1 | 1 << 2 | 1 << 5); // edges, binary and canny, all of blur 5
    assert_count(&bed, STAGE_GRAY, 3, 2 + 2);
    assert_count(&bed, STAGE_BLUR, 1, 2);
    assert_count(&bed, STAGE_GRADIENT, 2, 1 + 1);
    run_frame(&bed, 2, 1 << 0 | 1 << 7); // two of the same
    assert_count(&bed, STAGE_GRADIENT, 3, 2 + 1);
    run_frame(&bed, 3, 1 << 0 | 1 << 8); // nothing in common
    assert_count(&bed, STAGE_GRADIENT, 4, 3);
    assert_count(&bed, STAGE_CONVERT, 1, 0);
    bed_finish(&bed);
}

TEST(test_gray_in_place_is_no_stage_to_share)
{
    struct bed bed;

    bed_init(&bed, "NV12", 64, 9);
    run_frame(&bed, 0, 1 << 0 | 1 << 4 | 1 << 6);
    assert_count(&bed, STAGE_GRAY, 0, 0);
    assert_count(&bed, STAGE_GRADIENT, 1, 0);
    bed_finish(&bed);
}

TEST(test_a_view_that_ends_leaves_the_others_their_pictures)
{
    struct bed bed;

    bed_init(&bed, "YUYV", 65, 33);
    run_frame(&bed, 0, 0xff);
    view_free(TAKE(bed.views[0]));
    view_free(TAKE(bed.views[3]));
    for (uint32_t number = 1; number < 4; number++) {
        draw(bed.input, number);
        graph_begin(bed.graph);
        for (size_t i = 0; i < 8; i++) {
            if (bed.views[i])
                compare(&bed, i);
        }
    }
    bed_finish(&bed);
}

RUN_TESTS(NULL, NULL)
