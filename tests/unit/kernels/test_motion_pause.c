// Motion after a pause in which nobody watched, or the camera was gone. check_gpu shows that the
// GPU does the same.
#include "kernels/graph/graph.h"
#include "tests/unit/view_pictures.h"

static const struct config_view pausing_views[] = {
    {.view = CONFIG_VIEW_MOTION, .threshold = 25, .erode = 1},
    {.view = CONFIG_VIEW_MOTION, .threshold = 25, .erode = 2},
    {.view = CONFIG_VIEW_SPLIT,
     .left = (char *)"motion",
     .right = (char *)"motion",
     .threshold = 25},
    {.view = CONFIG_VIEW_CUSTOM,
     .threshold = 25,
     .stages = {.list = {CONFIG_STAGE_DIFFERENCE}, .count = 1}},
    {.view = CONFIG_VIEW_CUSTOM,
     .threshold = CONFIG_THRESHOLD_OTSU,
     .times = 1,
     .stages = {.list = {CONFIG_STAGE_BLUR3, CONFIG_STAGE_DIFFERENCE, CONFIG_STAGE_DILATE,
                         CONFIG_STAGE_MARK},
                .count = 4}},
};

// Two views of one camera.
struct pause_bed {
    const struct config_view *settings;
    struct frame *input;
    struct graph *graph;
    struct view *paused, *watched;
};

static struct pause_bed pause_bed_make(const struct config_view *settings)
{
    struct pause_bed bed = {.settings = settings};
    struct frame_layout layout;
    struct frame_pool *pool;
    struct view_setup setup = {
        .settings = settings, .input = &layout, .allocator = frame_allocator_host()};

    frame_layout_init(&layout, pixel_format_by_name("YUYV"), 70, 22, 16);
    assert_int_equal(frame_pool_new(&layout, 1, frame_allocator_host(), &pool), 0);
    bed.input = frame_pool_take(pool);
    frame_pool_unref(pool);
    assert_int_equal(graph_new(&bed.graph), 0);
    setup.graph = bed.graph;
    assert_int_equal(view_new(&setup, NULL, &bed.paused), 0);
    assert_int_equal(view_new(&setup, NULL, &bed.watched), 0);
    return bed;
}

static void pause_bed_finish(struct pause_bed *bed)
{
    view_free(bed->paused);
    view_free(bed->watched);
    graph_free(bed->graph);
    frame_unref(bed->input);
}

// Squares that are elsewhere in each frame.
static void pause_draw(struct frame *frame, int number)
{
    for (size_t i = 0; i < frame->layout.size; i++)
        frame->data[i] = (uint8_t)((i / 12 + i / 700 + (size_t)number) % 5 * 50);
}

// The picture of frame `number` by a new view on the CPU that has seen frame `before`; -1: none.
static struct frame *pause_expect(struct pause_bed *bed, int before, int number)
{
    const struct view_setup setup = {.settings = bed->settings,
                                     .input = &bed->input->layout,
                                     .allocator = frame_allocator_host()};
    struct frame *picture;
    struct view *view;

    assert_int_equal(view_new(&setup, NULL, &view), 0);
    if (before >= 0) {
        pause_draw(bed->input, before);
        assert_int_equal(view_run(view, bed->input, NULL, &picture), 0);
        frame_unref(picture);
    }
    pause_draw(bed->input, number);
    assert_int_equal(view_run(view, bed->input, NULL, &picture), 0);
    view_free(view);
    return picture;
}

static void pause_check(struct pause_bed *bed, struct view *view, int before, int number)
{
    struct frame *expected = pause_expect(bed, before, number), *picture;

    assert_int_equal(view_run(view, bed->input, NULL, &picture), 0);
    assert_same_picture(picture, expected);
    frame_unref(picture);
    frame_unref(expected);
}

// Frame `number` for both, which have seen those before; -2: nobody watches the one that pauses.
static void pause_see(struct pause_bed *bed, int number, int paused_before, int watched_before)
{
    view_set_active(bed->paused, paused_before >= -1);
    view_set_active(bed->watched, true);
    graph_begin(bed->graph);
    if (paused_before >= -1)
        pause_check(bed, bed->paused, paused_before, number);
    pause_check(bed, bed->watched, watched_before, number);
}

// Nobody watches either for a while.
static void pause_all(struct pause_bed *bed)
{
    view_set_active(bed->paused, false);
    view_set_active(bed->watched, false);
    graph_begin(bed->graph);
}

// After a pause of one's own nothing has moved, while the other goes on. Nothing has moved in both
// when the frames have ended in between, or nobody watched.
static void pause_check_all(struct pause_bed *bed)
{
    pause_see(bed, 0, -1, -1);
    pause_see(bed, 1, 0, 0);
    pause_see(bed, 2, -2, 1);
    pause_see(bed, 3, -1, 2);
    pause_see(bed, 4, 3, 3);
    view_forget(bed->paused);
    view_forget(bed->watched);
    pause_see(bed, 6, -1, -1);
    pause_see(bed, 7, 6, 6);
    pause_all(bed);
    pause_see(bed, 9, -1, -1);
    pause_see(bed, 10, 9, 9);
}

TEST(test_nothing_has_moved_in_the_first_picture_after_a_pause)
{
    for (size_t i = 0; i < ARRAY_LENGTH(pausing_views); i++) {
        struct pause_bed bed = pause_bed_make(&pausing_views[i]);

        pause_check_all(&bed);
        pause_bed_finish(&bed);
    }
}

RUN_TESTS(NULL, NULL)
