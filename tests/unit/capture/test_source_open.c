// Which source is opened, with a stand-in for the V4L2 source that fails as told.
#include "tests/unit/capture/source_harness.h"

static int v4l2_result;
static char v4l2_device[32];

static int stand_in_open(const struct config_camera *camera,
                         const struct source_environment *environment, struct error *error,
                         struct source **ret_source)
{
    strcpy(v4l2_device, camera->device);
    if (v4l2_result < 0) {
        return error_set(error, v4l2_result, "the stand-in fails");
    }
    return source_pattern_ops.open(camera, environment, error, ret_source);
}

const struct source_ops source_v4l2_ops = {.name = "v4l2", .open = stand_in_open};

static int open_with(struct harness *harness, enum config_source source, int result)
{
    harness_init(harness);
    harness->camera.source = source;
    v4l2_result = result;
    strcpy(v4l2_device, "not asked");
    return source_open(&harness->camera, &harness->environment, &harness->error, &harness->source);
}

TEST(test_auto_takes_the_first_camera_that_works)
{
    struct harness harness;

    assert_int_equal(open_with(&harness, CONFIG_SOURCE_AUTO, 0), 0);
    assert_string_equal(v4l2_device, "");
    assert_string_equal(harness.source->mode.description, "pattern NV12 320x240@30");
    source_close(harness.source);
}

TEST(test_auto_shows_the_pattern_when_there_is_no_camera)
{
    static const int errors[] = {-ENODEV, -ENOENT, -ENOTSUP};
    struct harness harness;

    for (size_t i = 0; i < ARRAY_LENGTH(errors); i++) {
        struct frame *frame;

        assert_int_equal(open_with(&harness, CONFIG_SOURCE_AUTO, errors[i]), 0);
        assert_string_equal(harness.source->mode.description,
                            "pattern (no camera found) NV12 320x240@30");
        assert_int_equal(source_start(harness.source, &harness.error), 0);
        frame = harness_next(&harness);
        assert_int_equal(frame->sequence, 0);
        frame_unref(frame);
        source_close(harness.source);
    }
}

TEST(test_auto_hides_no_camera_that_is_there_but_unusable)
{
    static const int errors[] = {-EBUSY, -EACCES};
    struct harness harness;

    for (size_t i = 0; i < ARRAY_LENGTH(errors); i++) {
        assert_int_equal(open_with(&harness, CONFIG_SOURCE_AUTO, errors[i]), errors[i]);
        assert_string_equal(harness.error.text, "the stand-in fails");
    }
}

TEST(test_a_named_source_is_opened_and_no_other)
{
    struct harness harness;

    assert_int_equal(open_with(&harness, CONFIG_SOURCE_V4L2, -ENODEV), -ENODEV);
    if (open_with(&harness, CONFIG_SOURCE_PATTERN, -ENODEV) < 0 || !harness.source) {
        fail_msg("open: %s", harness.error.text);
        return;
    }
    assert_string_equal(v4l2_device, "not asked");
    assert_ptr_equal(harness.source->ops, &source_pattern_ops);
    source_close(harness.source);
    source_close(NULL);
}

TEST(test_frames_that_are_still_to_be_turned_come_the_other_way_round)
{
    struct harness harness;

    harness_init(&harness);
    harness.camera.source = CONFIG_SOURCE_PATTERN;
    harness.camera.flip = CONFIG_FLIP_ROTATE_90;
    assert_int_equal(
        source_open(&harness.camera, &harness.environment, &harness.error, &harness.source), 0);
    assert_false(harness.source->mode.flipped);
    assert_int_equal(harness.source->mode.layout.width, 240);
    assert_int_equal(harness.source->mode.layout.height, 320);
    source_close(harness.source);
}

RUN_TESTS(NULL, NULL)
