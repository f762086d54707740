// A view's handling of frames beside computing: which it passes on, what they carry, when there is
// none, and what it refuses.
#include "tests/unit/view_pictures.h"

#include <errno.h>

TEST(test_what_needs_no_work_is_the_same_frame)
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

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct frame *input = new_frame(cases[i].format, 4, 4, 1);
        struct frame *output = compute(cases[i].settings, frame_ref(input), cases[i].kind);

        assert_int_equal(output == input, cases[i].same);
        frame_unref(output);
        frame_unref(input);
    }
}

TEST(test_a_picture_carries_its_times_and_number)
{
    struct frame *input = new_ramp("YUYV", 0), *output;

    input->pts_ns = 11;
    input->grabbed_ns = 22;
    input->sequence = 33;
    output = compute(&edges_view, input, VIEW_OUTPUT_STREAM);
    assert_int_equal(output->pts_ns, 11);
    assert_int_equal(output->grabbed_ns, 22);
    assert_int_equal(output->sequence, 33);
    frame_unref(output);
}

TEST(test_a_view_without_free_frames_drops_until_one_comes_back)
{
    struct frame *input = new_ramp("GREY", 0), *outputs[3] = {NULL};
    const struct view_setup setup = {.settings = &edges_view,
                                     .input = &input->layout,
                                     .frames = 2,
                                     .allocator = frame_allocator_host()};
    struct view *view;

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

// A view in place of another has its frames where nothing of its own must stand in them before.
TEST(test_a_view_takes_over_frames_that_fit)
{
    static const struct config_view louder = EDGES(CONFIG_NORM_L2, 2.0);
    static const struct {
        const struct config_view *settings;
        bool same;
    } nexts[] = {{&louder, true}, {&gray_view, false}};
    struct frame *input = new_ramp("GREY", 0);
    struct view_setup setup = {.settings = &edges_view,
                               .input = &input->layout,
                               .frames = 1,
                               .allocator = frame_allocator_host()};

    for (size_t i = 0; i < ARRAY_LENGTH(nexts); i++) {
        struct view *before, *next;
        struct frame *frame;

        setup.settings = &edges_view;
        setup.before = NULL;
        assert_int_equal(view_new(&setup, NULL, &before), 0);
        setup.settings = nexts[i].settings;
        setup.before = before;
        assert_int_equal(view_new(&setup, NULL, &next), 0);
        assert_int_equal(view_run(before, input, NULL, &frame), 0);
        struct frame *other = NULL;
        assert_int_equal(view_run(next, input, NULL, &other), nexts[i].same ? -ENOBUFS : 0);
        frame_unref(other);
        view_free(before);
        frame_unref(frame);
        assert_int_equal(view_run(next, input, NULL, &frame), 0);
        assert_int_equal(frame_plane(frame, 1)[0], 128);
        frame_unref(frame);
        view_free(next);
    }
    frame_unref(input);
}

TEST(test_a_conversion_nobody_has_is_refused_by_name)
{
    struct frame *input = new_ramp("YUYV", 0);
    const struct view_setup setup = {.settings = &camera_view,
                                     .input = &input->layout,
                                     .output = VIEW_OUTPUT_EXACT,
                                     .allocator = frame_allocator_host()};
    struct error error = {0};
    struct view *view = NULL;

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

TEST(test_a_view_without_memory_fails_cleanly)
{
    const struct frame_allocator allocator = {.kind = "none", .allocate = refuse_memory};
    const struct config_view *const views[] = {&camera_view, &gray_view, &edges_half_view};
    struct frame *input = new_ramp("YUYV", 0);
    struct view *view = NULL;

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

RUN_TESTS(NULL, NULL)
