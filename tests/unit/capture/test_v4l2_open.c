// Opening a V4L2 camera: which mode it is set to, what its controls become, why it cannot be
// opened.
#include "tests/unit/capture/v4l2_source.h"

// colour=: colorspace 0 unknown, 1 SMPTE 170M, 3 Rec. 709, 7 JPEG, 8 sRGB, 10 BT.2020; ycbcr_enc 2
// 709; xfer_func 1 709. Defaults as linux/videodev2.h has them for each colorspace.
TEST(test_range_and_colour_are_what_the_driver_says)
{
    static const struct {
        const char *camera;
        enum frame_range range;
        struct frame_colour colour; // primaries, transfer, matrix
    } cases[] = {
        {"format=YUYV size=64x48", FRAME_RANGE_LIMITED, {1, 13, 6}},
        {"format=YUYV size=64x48 range=full", FRAME_RANGE_FULL, {1, 13, 6}},
        {"format=YUYV size=64x48 colour=0", FRAME_RANGE_LIMITED, {6, 6, 6}},
        {"format=YUYV size=1280x718 colour=0", FRAME_RANGE_LIMITED, {6, 6, 6}},
        {"format=YUYV size=1280x720 colour=0", FRAME_RANGE_LIMITED, {1, 1, 1}},
        {"format=YUYV size=64x48 colour=0,2", FRAME_RANGE_LIMITED, {6, 6, 1}},
        {"format=YUYV size=1280x720 colour=1", FRAME_RANGE_LIMITED, {6, 1, 6}},
        {"format=NV12 size=64x48 colour=3", FRAME_RANGE_LIMITED, {1, 1, 1}},
        {"format=NV12 size=64x48 colour=8,2,1", FRAME_RANGE_LIMITED, {1, 1, 1}},
        {"format=NV12 size=64x48 colour=7", FRAME_RANGE_FULL, {1, 13, 6}},
        {"format=NV12 size=64x48 colour=10", FRAME_RANGE_LIMITED, {9, 1, 9}},
        {"format=NV12 size=64x48 colour=99,99,99", FRAME_RANGE_LIMITED, {6, 6, 6}},
        {"format=GREY size=64x48", FRAME_RANGE_FULL, {1, 13, 6}},
        {"format=GREY size=64x48 range=limited", FRAME_RANGE_LIMITED, {1, 13, 6}},
        {"format=RGB3 size=64x48", FRAME_RANGE_FULL, {1, 13, 0}},
        {"format=RGB3 size=64x48 colour=3,2", FRAME_RANGE_FULL, {1, 1, 0}},
        {"format=MJPG size=1280x720 silent=1 colour=0", FRAME_RANGE_FULL, {1, 13, 6}},
        {"format=MJPG size=64x48 silent=1 colour=3", FRAME_RANGE_FULL, {1, 1, 6}},
        {"format=MJPG size=64x48 silent=1 colour=3,2 range=limited",
         FRAME_RANGE_LIMITED,
         {1, 1, 1}},
    };
    struct config_camera wish = camera_wish();

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct source *source = start_source(cases[i].camera, &wish);

        assert_int_equal(source->mode.layout.range, cases[i].range);
        assert_memory_equal(&source->mode.layout.colour, &cases[i].colour, sizeof cases[i].colour);
        close_source(source);
    }
}

TEST(test_negotiation_finds_the_nearest_mode)
{
    static const struct {
        const char *camera, *format;
        int width, height, fps;
        const char *description;
    } cases[] = {
        {"size=320x240,640x480,1280x720", "auto", 600, 400, 30, "V4L2 USERPTR YUYV 640x480@30"},
        {"size=320x240,640x480,1280x720", "auto", 9999, 9999, 30, "V4L2 USERPTR YUYV 1280x720@30"},
        {"size=16x16-1920x1080/8x2", "auto", 641, 479, 30, "V4L2 USERPTR YUYV 640x480@30"},
        {"size=16x16-1920x1080/8x2", "auto", 4000, 3000, 30, "V4L2 USERPTR YUYV 1920x1080@30"},
        {"fps=60,30,15,5", "auto", 640, 480, 28, "V4L2 USERPTR YUYV 640x480@30"},
        {"fps=60,30,15,5", "auto", 640, 480, 5, "V4L2 USERPTR YUYV 640x480@5"},
        {"format=GREY,RGB3,YUYV,NV12", "auto", 640, 480, 30, "V4L2 USERPTR NV12 640x480@30"},
        {"format=NV12,YUYV", "YUYV", 640, 480, 30, "V4L2 USERPTR YUYV 640x480@30"},
        {"format=MJPG,YUYV", "auto", 640, 480, 30, "V4L2 USERPTR YUYV 640x480@30"},
        {"format=MJPG,YUYV@25", "auto", 640, 480, 30, "V4L2 USERPTR YUYV 640x480@25"},
        {"format=YUYV@5,MJPG silent=1", "auto", 640, 480, 30, "V4L2 MMAP MJPG -> 422P 640x480@30"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct config_camera wish = camera_wish();
        struct source *source;

        wish.format = (char *)cases[i].format;
        wish.width = cases[i].width;
        wish.height = cases[i].height;
        wish.fps = cases[i].fps;
        source = start_source(cases[i].camera, &wish);
        assert_string_equal(source->mode.description, cases[i].description);
        close_source(source);
    }
}

TEST(test_what_cannot_be_opened_says_why)
{
    static const struct {
        const char *camera, *device;
        int code;
        const char *text;
    } cases[] = {
        {"", "/dev/video99", -ENOENT,
         "/dev/video99 does not exist; capture devices: /dev/video0 (Fake Camera)"},
        {"device=/nowhere", "/dev/video99", -ENOENT,
         "/dev/video99 does not exist; capture devices: none"},
        {"", "/dev/null", -EINVAL, "/dev/null is not a capture device"},
        {"kind=output", "/dev/video0", -EINVAL, "/dev/video0 is not a capture device"},
        {"kind=mplane", "/dev/video0", -ENOTSUP, "/dev/video0 is a multi-planar device"},
        {"kind=gone", "/dev/video0", -ENODEV, "/dev/video0 has no device behind it"},
        {"busy=format", "/dev/video0", -EBUSY,
         "/dev/video0 is busy: another program streams from it"},
        {"dv=none", "/dev/video0", -EIO, "/dev/video0: no signal comes into its input"},
        // Fields by turns, the upper ones alone, and one behind the other.
        {"field=7", "/dev/video0", -ENOTSUP, "the fields of interlaced pictures one by one"},
        {"field=2", "/dev/video0", -ENOTSUP, "the fields of interlaced pictures one by one"},
        {"field=5", "/dev/video0", -ENOTSUP, "the fields of interlaced pictures one by one"},
        {"lie=size", "/dev/video0", -ENOTSUP, "the driver's numbers make no picture"},
        {"lie=stride", "/dev/video0", -ENOTSUP, "the driver's numbers make no picture"},
        {"lie=zero", "/dev/video0", -ENOTSUP, "the driver's numbers make no picture"},
        {"device=/nowhere", "", -ENODEV,
         "no capture device in /dev/v4l/by-path or /dev/video0..63"},
        {"busy=format device=/dev/video7", "", -ENODEV,
         "no camera can be used: /dev/video7 is busy: another program streams from it"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct config_camera wish = camera_wish();
        struct source *source;
        struct error error;

        wish.device = (char *)cases[i].device;
        assert_int_equal(open_source(cases[i].camera, &wish, &error, &source), cases[i].code);
        if (!strstr(error.text, cases[i].text))
            fail_msg("case %zu: %s", i, error.text);
    }
}

TEST(test_without_usb_bandwidth_the_next_format_is_taken)
{
    static const struct {
        const char *camera, *description;
    } cases[] = {
        {"format=YUYV,MJPG nospc=YUYV silent=1",
         "V4L2 MMAP MJPG -> 422P 640x480@30 (not enough USB bandwidth for YUYV)"},
        {"format=YUYV,UYVY,MJPG nospc=YUYV,UYVY silent=1",
         "V4L2 MMAP MJPG -> 422P 640x480@30 (not enough USB bandwidth for YUYV)"},
        {"format=YUYV,NV12 nospc=NV12 userptr=no",
         "V4L2 MMAP YUYV 640x480@30 (not enough USB bandwidth for NV12)"},
        {"format=YUYV@5,MJPG nospc=MJPG",
         "V4L2 USERPTR YUYV 640x480@5 (not enough USB bandwidth for MJPG)"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct config_camera wish = camera_wish();
        struct source *source = NULL;
        struct error error;

        assert_int_equal(open_source(cases[i].camera, &wish, &error, &source), 0);
        memset(&wish, 0xff, sizeof wish); // of the caller's, and gone by now
        assert_int_equal(source_v4l2_ops.start(source, &error), 0);
        assert_string_equal(source->mode.description, cases[i].description);
        if (!strstr(cases[i].camera, "silent"))
            frame_unref(next_frame(source));
        close_source(source);
    }
}

TEST(test_without_usb_bandwidth_for_any_format_it_says_what_to_try)
{
    static const struct {
        const char *camera, *format, *text;
    } cases[] = {
        {"format=YUYV,MJPG nospc=YUYV", "YUYV",
         "/dev/video0: not enough USB bandwidth for YUYV 640x480@30; try format = \"MJPG\", a "
         "smaller size, a lower fps or another USB bus"},
        {"format=YUYV,MJPG nospc=MJPG", "MJPG",
         "/dev/video0: not enough USB bandwidth for MJPG 640x480@30; try a smaller size, a lower "
         "fps or another USB bus"},
        {"format=YUYV,MJPG nospc=YUYV,MJPG", "auto",
         "/dev/video0: not enough USB bandwidth for MJPG 640x480@30; try a smaller size, a lower "
         "fps or another USB bus"},
        {"format=YUYV nospc=YUYV", "auto",
         "/dev/video0: not enough USB bandwidth for YUYV 640x480@30; try a smaller size, a lower "
         "fps or another USB bus"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct config_camera wish = camera_wish();
        struct source *source = NULL;
        struct error error;
        int r;

        wish.format = (char *)cases[i].format;
        r = open_source(cases[i].camera, &wish, &error, &source);
        if (r == 0) {
            r = source_v4l2_ops.start(source, &error);
            close_source(source);
        }
        assert_int_equal(r, -ENOSPC);
        assert_string_equal(error.text, cases[i].text);
    }
}

TEST(test_a_format_the_camera_lacks_lists_what_it_has)
{
    struct config_camera wish = camera_wish();
    struct source *source;
    struct error error;

    wish.format = (char *)"NV12";
    assert_int_equal(open_source("format=YUYV,MJPG", &wish, &error, &source), -ENOTSUP);
    assert_string_equal(error.text, "/dev/video0 has no format edged can use as NV12; it offers "
                                    "YUYV, MJPG, YU12");
    wish.format = (char *)"MJPG"; // decoded from the driver's own memory
    wish.io = CONFIG_V4L2_IO_USERPTR;
    assert_int_equal(open_source("format=YUYV,MJPG", &wish, &error, &source), -ENOTSUP);
    assert_string_equal(error.text, "/dev/video0 has no format edged can use as MJPG with io = "
                                    "\"userptr\"; it offers YUYV, MJPG");
}

static int control_value(uint32_t id)
{
    struct v4l2_control query = {.id = id};
    int fd = v4l2_open("/dev/video0", O_RDWR);

    assert_int_equal(v4l2_ioctl(fd, VIDIOC_G_CTRL, &query), 0);
    v4l2_close(fd);
    return query.value;
}

TEST(test_controls_are_set_in_order_at_every_open)
{
    struct config_control wanted[] = {{(char *)"brightness", 7},
                                      {(char *)"white_balance_automatic", 0},
                                      {(char *)"white_balance_temperature", 3200}};
    struct config_camera wish = camera_wish();
    struct v4l2_control other = {.id = V4L2_CID_BRIGHTNESS, .value = 99};

    wish.controls = wanted;
    wish.control_count = ARRAY_LENGTH(wanted);
    for (int i = 0; i < 2; i++) {
        close_source(start_source("size=64x48", &wish));
        assert_int_equal(control_value(V4L2_CID_BRIGHTNESS), 7);
        assert_int_equal(control_value(V4L2_CID_AUTO_WHITE_BALANCE), 0);
        assert_int_equal(control_value(V4L2_CID_WHITE_BALANCE_TEMPERATURE), 3200);
        fake_control(&(struct fake_camera){0}, &other, true); // somebody else's hand
    }
    fake_reset_controls();
}

TEST(test_wrong_controls_say_what_is_allowed)
{
    static const struct {
        struct config_control control;
        const char *text;
    } cases[] = {
        {{(char *)"zoom", 1},
         "/dev/video0 has no control zoom; it has brightness, white_balance_automatic, "
         "white_balance_temperature"},
        {{(char *)"brightness", 256},
         "/dev/video0: control brightness = 256 is out of range 0..255"},
        {{(char *)"white_balance_temperature", 3200},
         "/dev/video0: the driver refuses control white_balance_temperature = 3200: Permission "
         "denied"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct config_camera wish = camera_wish();
        struct config_control wanted = cases[i].control;
        struct source *source;
        struct error error;

        wish.controls = &wanted;
        wish.control_count = 1;
        assert_int_equal(open_source("size=64x48", &wish, &error, &source), -EINVAL);
        assert_string_equal(error.text, cases[i].text);
    }
}

// The luma in the top left corner of a frame, n being its number: 16 + (3 x + 5 y + 7 n) mod 220 of
// where the camera saw it.
static unsigned corner_of(const struct frame *frame)
{
    return frame_plane(frame, 0)[0] - 16U;
}

TEST(test_a_camera_that_can_flip_does_so_itself_and_is_left_upright)
{
    static const struct {
        const char *controls;
        enum config_flip flip;
        bool flipped;
        uint32_t x, y; // what the camera puts into the corner
    } cases[] = {
        {"hflip=1 vflip=1", CONFIG_FLIP_HORIZONTAL, true, 63, 0},
        {"hflip=1 vflip=1", CONFIG_FLIP_VERTICAL, true, 0, 47},
        {"hflip=1 vflip=1", CONFIG_FLIP_ROTATE_180, true, 63, 47},
        {"hflip=1 vflip=1", CONFIG_FLIP_ROTATE_90, false, 0, 0},
        {"hflip=1 vflip=1", CONFIG_FLIP_NONE, false, 0, 0},
        {"hflip=1", CONFIG_FLIP_HORIZONTAL, true, 63, 0},
        {"hflip=1", CONFIG_FLIP_ROTATE_180, false, 0, 0},
        {"hflip=2 vflip=1", CONFIG_FLIP_HORIZONTAL, false, 0, 0},
        {"hflip=2 vflip=1", CONFIG_FLIP_ROTATE_180, false, 0, 0},
        {"", CONFIG_FLIP_VERTICAL, false, 0, 0},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct config_camera wish = camera_wish();
        char camera[128];

        snprintf(camera, sizeof camera, "device=/dev/video0 format=NV12 size=64x48 fps=30 %s",
                 cases[i].controls);
        wish.flip = cases[i].flip;
        struct source *source = start_source(camera, &wish);
        struct frame *frame = next_frame(source);

        assert_int_equal(source->mode.flipped, cases[i].flipped);
        assert_int_equal(corner_of(frame),
                         (3 * cases[i].x + 5 * cases[i].y + 7 * frame->sequence) % 220);
        frame_unref(frame);
        source_close(source);
        assert_false(fake_control_is_on(V4L2_CID_HFLIP) || fake_control_is_on(V4L2_CID_VFLIP));
    }
}

RUN_TESTS(NULL, NULL)
