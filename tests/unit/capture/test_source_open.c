// Which source is opened, with a stand-in for the V4L2 source that fails as told.
#include "tests/unit/capture/source_harness.h"

static int v4l2_result;
static char v4l2_device[32];

static int stand_in_open(const struct config_camera *camera,
                         const struct source_environment *environment, struct error *error,
                         struct source **ret_source)
{
    strcpy(v4l2_device, camera->device);
    if (v4l2_result < 0)
        return error_set(error, v4l2_result, "the stand-in fails");
    return source_pattern_ops.open(camera, environment, error, ret_source);
}

const struct source_ops source_v4l2_ops = {.open = stand_in_open};

// Drawn by hand: a letter is 5 dots wide, and a dot apart from the next.
static const char *const no_camera[] = {
    "#...#..###.........###...###..#...#.#####.####...###.",
    "#...#.#...#.......#...#.#...#.##.##.#.....#...#.#...#",
    "##..#.#...#.......#.....#...#.#.#.#.#.....#...#.#...#",
    "#.#.#.#...#.......#.....#####.#.#.#.####..####..#####",
    "#..##.#...#.......#.....#...#.#...#.#.....#.#...#...#",
    "#...#.#...#.......#...#.#...#.#...#.#.....#..#..#...#",
    "#...#..###.........###..#...#.#...#.#####.#...#.#...#",
};

static uint8_t luma_at(const struct frame *frame, size_t x, size_t y)
{
    return frame_plane(frame, 0)[y * frame->layout.planes[0].stride + x];
}

// In a picture of 320x240 a dot is 3x3 pixels, and the band around the letters has rows 102 to 135.
static void assert_says_no_camera(const struct frame *frame)
{
    for (size_t row = 0; row < ARRAY_LENGTH(no_camera); row++) {
        for (size_t column = 0; no_camera[row][column]; column++) {
            int expected = no_camera[row][column] == '#' ? 210 : 40;

            assert_int_equal(luma_at(frame, 79 + 3 * column + 1, 109 + 3 * row + 1), expected);
        }
    }
}

static void assert_is_the_pattern_beside(const struct frame *frame)
{
    struct harness harness;

    harness_init(&harness);
    harness_start(&harness, &source_pattern_ops);
    struct frame *plain = harness_next(&harness);
    for (unsigned plane = 0; plane < 2; plane++) {
        size_t stride = frame->layout.planes[plane].stride;

        for (uint32_t row = 0; row < frame->layout.planes[plane].rows; row++) {
            if (row < 102U >> plane || row >= 136U >> plane) {
                assert_memory_equal(frame_plane(frame, plane) + row * stride,
                                    frame_plane(plain, plane) + row * stride,
                                    frame->layout.planes[plane].width_bytes);
            }
        }
    }
    frame_unref(plain);
    source_close(harness.source);
}

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

TEST(test_auto_shows_the_pattern_and_says_no_camera)
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
        assert_says_no_camera(frame);
        assert_is_the_pattern_beside(frame);
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
