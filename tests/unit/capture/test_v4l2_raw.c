// Cameras that deliver a sensor's raw samples, and what is asked of them.
#include "tests/unit/capture/v4l2_source.h"

static const char *const raw_formats[] = {
    "RGGB", "GRBG", "GBRG", "BA81", "RG10", "BA10", "GB10", "BG10", "pRAA", "pgAA", "pGAA", "pBAA",
    "RG12", "BA12", "GB12", "BG12", "pRCC", "pgCC", "pGCC", "pBCC", "RG16", "GR16", "GB16", "BYR2"};

static struct config_camera raw_wish(void)
{
    struct config_camera wish = camera_wish();

    wish.raw_gain = wish.raw_red = wish.raw_blue = 1;
    return wish;
}

TEST(test_raw_samples_come_without_a_copy)
{
    for (size_t i = 0; i < ARRAY_LENGTH(raw_formats); i++) {
        struct config_camera wish = raw_wish();
        char camera[128], description[128];

        snprintf(camera, sizeof camera, "device=/dev/video0 format=%s size=64x48 fps=30 stride=16",
                 raw_formats[i]);
        struct source *source = start_source(camera, &wish);
        struct frame *frame = next_frame(source);
        const struct frame_layout *layout = &frame->layout;

        assert_ptr_equal(layout->format, pixel_format_by_name(raw_formats[i]));
        assert_int_equal(layout->planes[0].stride, layout->planes[0].width_bytes + 16);
        assert_int_equal(layout->planes[0].rows, 48);
        assert_int_equal(layout->range, FRAME_RANGE_FULL);
        assert_int_equal(layout->development.black, 0);
        assert_true(layout->development.green == 1);
        snprintf(description, sizeof description, "V4L2 USERPTR %s 64x48@30", raw_formats[i]);
        assert_string_equal(source->mode.description, description);
        assert_int_equal(copies_total(&copies), 0);
        frame_unref(frame);
        source_close(source);
    }
}

TEST(test_layouts_say_how_samples_are_to_be_developed)
{
    for (unsigned i = 0; i < 2; i++) {
        struct config_camera wish = raw_wish();

        wish.raw_black = 64;
        wish.raw_gain = 2;
        wish.raw_red = 1.5;
        wish.raw_blue = 1.25;
        struct source *source =
            start_source(i ? "device=/dev/video0 format=RG10 size=64x48 fps=30 userptr=no"
                           : "device=/dev/video0 format=RG10 size=64x48 fps=30",
                         &wish);
        const struct frame_development *development = &source->mode.layout.development;

        assert_int_equal(development->black, 64);
        assert_true(development->red == 3);
        assert_true(development->green == 2);
        assert_true(development->blue == 2.5);
        source_close(source);
    }
}

TEST(test_a_format_that_is_a_picture_is_preferred)
{
    static const char *const better[] = {"YUYV", "GREY", "RGB3"};

    for (size_t i = 0; i < ARRAY_LENGTH(better); i++) {
        struct config_camera wish = raw_wish();
        char camera[128];

        snprintf(camera, sizeof camera, "device=/dev/video0 format=RGGB,pRAA,%s size=64x48 fps=30",
                 better[i]);
        struct source *source = start_source(camera, &wish);

        assert_string_equal(source->mode.layout.format->name, better[i]);
        source_close(source);
        wish.format = (char *)"pRAA";
        source = start_source(camera, &wish);
        assert_string_equal(source->mode.layout.format->name, "pRAA");
        source_close(source);
    }
}

// As nodes in front of a sensor's processor come before the one behind it.
TEST(test_a_device_that_delivers_pictures_is_preferred)
{
    static const struct {
        const char *camera, *description;
    } cases[] = {
        {"raw-device=/dev/video0 device=/dev/video3 format=YUYV size=64x48 fps=30",
         "V4L2 USERPTR YUYV 64x48@30"},
        {"raw-device=/dev/video0 device=/dev/video3 format=M420 size=64x48 fps=30",
         "V4L2 USERPTR BG10 64x48@30"},
        {"raw-device=/dev/video5 device=/dev/nothing size=64x48 fps=30",
         "V4L2 USERPTR BG10 64x48@30"},
        {"raw-device=/dev/video5 device=/dev/video3 format=YUYV busy=format", NULL},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct config_camera wish = raw_wish();
        struct source *source = NULL;
        struct error error = {0};

        wish.device = (char *)"";
        if (!cases[i].description) {
            assert_int_equal(open_source(cases[i].camera, &wish, &error, &source), -ENODEV);
            assert_string_equal(error.text, "no camera can be used: /dev/video3 is busy: another "
                                            "program streams from it");
            continue;
        }
        assert_int_equal(open_source(cases[i].camera, &wish, &error, &source), 0);
        assert_string_equal(source->mode.description, cases[i].description);
        source_close(source);
    }
}

// In a flipped mosaic another colour would come first.
TEST(test_a_flip_of_raw_samples_is_left_to_edged)
{
    struct config_camera wish = raw_wish();

    wish.flip = CONFIG_FLIP_ROTATE_180;
    struct source *source =
        start_source("device=/dev/video0 format=RGGB size=64x48 fps=30 hflip=1 vflip=1", &wish);

    assert_false(source->mode.flipped);
    assert_false(fake_control_is_on(V4L2_CID_HFLIP));
    source_close(source);
}

RUN_TESTS(NULL, NULL)
