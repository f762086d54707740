// The V4L2 source against the fake camera, which is linked in here: its functions win over
// libv4l2's. What the camera shows is computed from its description, not with its code.
#include "tests/unit/unit.h"

#include "capture/source.h"
#include "capture/source_v4l2_private.h"

#include <errno.h>
#include <fcntl.h>
#include <libv4l2.h>
#include <linux/videodev2.h>
#include <string.h>

// clang-format off
#include "tests/fake_v4l2/fake_camera.c"
#include "tests/fake_v4l2/fake_controls.c"
#include "tests/fake_v4l2/fake_picture.c"
#include "tests/fake_v4l2/fake_v4l2.c"
// clang-format on

static struct copies copies;

static struct config_camera camera_wish(void)
{
    return (struct config_camera){
        .name = (char *)"front",
        .source = CONFIG_SOURCE_V4L2,
        .device = (char *)"/dev/video0",
        .format = (char *)"auto",
        .width = 64,
        .height = 48,
        .fps = 30,
    };
}

static int open_source(const char *camera, const struct config_camera *wish, struct error *error,
                       struct source **ret_source)
{
    struct source_environment environment = {frame_allocator_host(), &copies};

    setenv("EDGED_FAKE_V4L2", camera, 1);
    memset(&copies, 0, sizeof copies);
    *error = (struct error){0};
    return source_v4l2_ops.open(wish, &environment, error, ret_source);
}

static struct source *start_source(const char *camera, const struct config_camera *wish)
{
    struct source *source = NULL;
    struct error error;
    int r = open_source(camera, wish, &error, &source);

    assert_string_equal(error.text, "");
    assert_int_equal(r, 0);
    assert_int_equal(source_v4l2_ops.start(source, &error), 0);
    return source;
}

static struct frame *next_frame(struct source *source)
{
    struct frame *frame = NULL;
    struct error error = {0};
    int r = source_v4l2_ops.next(source, 2000, &error, &frame);

    assert_string_equal(error.text, "");
    assert_int_equal(r, 0);
    return frame;
}

static void close_source(struct source *source)
{
    source_v4l2_ops.close(source);
}

// The fake's picture as its description defines it.
static uint8_t sample(char component, uint64_t x, uint64_t y, uint64_t n)
{
    switch (component) {
    case 'Y':
    case 'R':
        return (uint8_t)(16 + (3 * x + 5 * y + 7 * n) % 220);
    case 'U':
    case 'G':
        return (uint8_t)(16 + (2 * x + y + 3 * n) % 225);
    case 'V':
    case 'B':
        return (uint8_t)(16 + (x + 4 * y + 5 * n) % 225);
    default:
        return 0;
    }
}

// `planes`: the bytes of one group of each plane, as letters, as FourCC documents write them.
static void assert_picture(const struct frame *frame, const char *const planes[])
{
    for (unsigned p = 0; p < frame->layout.format->plane_count; p++) {
        size_t group = strlen(planes[p]);

        for (uint32_t y = 0; y < frame->layout.planes[p].rows; y++) {
            const uint8_t *row = frame_plane(frame, p) + y * frame->layout.planes[p].stride;

            for (uint32_t i = 0; i < frame->layout.planes[p].width_bytes; i++) {
                char component = planes[p][i % group];
                uint64_t x = i / group;

                if (group == 4 && component == 'Y') {
                    x = i / 2; // two luma samples a group in packed 4:2:2
                }
                if (row[i] != sample(component, x, y, frame->sequence)) {
                    fail_msg("plane %u, row %u, byte %u of frame %lu: %u", p, y, i,
                             (unsigned long)frame->sequence, row[i]);
                }
            }
        }
    }
}

static const struct {
    const char *name;
    const char *planes[3];
    const char *camera, *padded;
} formats[] = {
    {"YUYV", {"YUYV"}, "format=YUYV size=64x48 fps=200", "format=YUYV size=64x48 fps=200 stride=20"},
    {"UYVY", {"UYVY"}, "format=UYVY size=64x48 fps=200", "format=UYVY size=64x48 fps=200 stride=20"},
    {"NV12", {"Y", "UV"}, "format=NV12 size=64x48 fps=200", "format=NV12 size=64x48 fps=200 stride=20"},
    {"NV21", {"Y", "VU"}, "format=NV21 size=64x48 fps=200", "format=NV21 size=64x48 fps=200 stride=20"},
    {"YU12", {"Y", "U", "V"}, "format=YU12 size=64x48 fps=200", "format=YU12 size=64x48 fps=200 stride=20"},
    {"GREY", {"Y"}, "format=GREY size=64x48 fps=200", "format=GREY size=64x48 fps=200 stride=20"},
    {"RGB3", {"RGB"}, "format=RGB3 size=64x48 fps=200", "format=RGB3 size=64x48 fps=200 stride=20"},
    {"BGR3", {"BGR"}, "format=BGR3 size=64x48 fps=200", "format=BGR3 size=64x48 fps=200 stride=20"},
    {"XR24", {"BGRx"}, "format=XR24 size=64x48 fps=200", "format=XR24 size=64x48 fps=200 stride=20"},
};

static void assert_formats(enum config_v4l2_io io, uint64_t copies_a_frame, const char *path)
{
    struct config_camera wish = camera_wish();

    wish.io = io;
    for (size_t i = 0; i < ARRAY_LENGTH(formats); i++) {
        for (int padded = 0; padded < 2; padded++) {
            struct source *source =
                start_source(padded ? formats[i].padded : formats[i].camera, &wish);
            char description[64];

            snprintf(description, sizeof description, "V4L2 %s %s 64x48@200", path,
                     formats[i].name);
            assert_string_equal(source->mode.description, description);
            for (int n = 0; n < 3; n++) {
                struct frame *frame = next_frame(source);

                assert_picture(frame, formats[i].planes);
                frame_unref(frame);
            }
            assert_int_equal(source->counters.frames, 3);
            assert_int_equal(copies.count[COPY_MMAP_FALLBACK], 3 * copies_a_frame);
            close_source(source);
        }
    }
}

static void test_userptr_delivers_every_format_without_a_copy(void **state)
{
    (void)state;
    assert_formats(CONFIG_V4L2_IO_AUTO, 0, "USERPTR");
}

static void test_mmap_delivers_every_format_with_one_copy(void **state)
{
    (void)state;
    assert_formats(CONFIG_V4L2_IO_MMAP, 1, "MMAP");
}

static void test_a_driver_that_refuses_userptr_gets_mmap(void **state)
{
    const char *const cameras_without[] = {"size=64x48 userptr=no", "size=64x48 userptr=qbuf"};
    struct config_camera wish = camera_wish();
    struct source *source;
    struct error error;

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cameras_without); i++) {
        wish.io = CONFIG_V4L2_IO_AUTO;
        source = start_source(cameras_without[i], &wish);
        assert_string_equal(source->mode.description, "V4L2 MMAP YUYV 64x48@30");
        frame_unref(next_frame(source));
        assert_int_equal(copies.count[COPY_MMAP_FALLBACK], 1);
        close_source(source);
        wish.io = CONFIG_V4L2_IO_USERPTR;
        assert_int_equal(open_source(cameras_without[i], &wish, &error, &source), -ENOTSUP);
        assert_non_null(strstr(error.text, "/dev/video0: the driver refuses USERPTR"));
    }
}

static void test_a_format_nobody_knows_goes_through_libv4l2_and_is_counted(void **state)
{
    struct config_camera wish = camera_wish();
    struct source *source = start_source("format=GRBG size=64x48 fps=200", &wish);
    struct frame *frame = next_frame(source);

    (void)state;
    assert_string_equal(source->mode.description, "V4L2 MMAP libv4l2 -> YU12 64x48@200");
    assert_picture(frame, (const char *const[]){"Y", "U", "V"});
    assert_int_equal(copies.count[COPY_LIBV4L_CONVERT], 1);
    assert_int_equal(copies.count[COPY_MMAP_FALLBACK], 1);
    frame_unref(frame);
    close_source(source);
}

static void test_range_is_what_the_driver_says(void **state)
{
    static const struct {
        const char *camera;
        enum frame_range range;
    } cases[] = {
        {"format=YUYV size=64x48", FRAME_RANGE_LIMITED},
        {"format=YUYV size=64x48 range=full", FRAME_RANGE_FULL},
        {"format=GREY size=64x48", FRAME_RANGE_FULL},
        {"format=GREY size=64x48 range=limited", FRAME_RANGE_LIMITED},
        {"format=RGB3 size=64x48", FRAME_RANGE_FULL},
    };
    struct config_camera wish = camera_wish();

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct source *source = start_source(cases[i].camera, &wish);

        assert_int_equal(source->mode.layout.range, cases[i].range);
        close_source(source);
    }
}

static void test_negotiation_finds_the_nearest_mode(void **state)
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

    (void)state;
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

static void test_flagged_and_short_buffers_are_counted_and_not_handed_out(void **state)
{
    const char *const broken[] = {"size=64x48 fps=200 error-every=2",
                                  "size=64x48 fps=200 short-every=2"};
    struct config_camera wish = camera_wish();

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(broken); i++) {
        struct source *source = start_source(broken[i], &wish);

        for (int n = 0; n < 4; n++) {
            struct frame *frame = next_frame(source);

            assert_int_equal(frame->sequence % 2, 0); // frames 1, 3, 5 … are broken
            frame_unref(frame);
        }
        assert_in_range(source->counters.corrupted, 3, 100);
        close_source(source);
    }
}

static void test_sequence_gaps_count_as_dropped(void **state)
{
    struct config_camera wish = camera_wish();
    struct source *source = start_source("size=64x48 fps=100 gap-every=3", &wish);
    uint64_t last = 0;

    (void)state;
    for (int n = 0; n < 6; n++) {
        struct frame *frame = next_frame(source);

        last = frame->sequence;
        frame_unref(frame);
    }
    // Every number up to the last was either handed out or dropped.
    assert_in_range(last, 7, 1000);
    assert_int_equal(source->counters.frames + source->counters.dropped, last + 1);
    close_source(source);
}

static void test_the_newest_of_several_frames_wins(void **state)
{
    struct config_camera wish = camera_wish();
    struct source *source = start_source("size=64x48 fps=20 burst=3", &wish);
    struct frame *frame = next_frame(source);

    (void)state;
    assert_int_equal(frame->sequence % 3, 2); // the last of its burst
    assert_picture(frame, (const char *const[]){"YUYV"});
    assert_int_equal(source->counters.dropped, frame->sequence);
    frame_unref(frame);
    close_source(source);
}

static void test_frames_in_use_are_not_with_the_driver(void **state)
{
    struct config_camera wish = camera_wish();
    struct source *source = start_source("size=64x48 fps=200", &wish);
    struct frame *held[8];
    struct frame *frame = NULL;
    struct error error = {0};

    (void)state;
    for (int i = 0; i < 8; i++) {
        held[i] = next_frame(source);
    }
    assert_int_equal(source_v4l2_ops.next(source, 50, &error, &frame), -EAGAIN);
    for (int i = 0; i < 8; i++) {
        assert_picture(held[i], (const char *const[]){"YUYV"});
        frame_unref(held[i]);
    }
    frame = next_frame(source);
    assert_in_range(source->counters.dropped, 1, 1000); // the driver had nowhere to write
    frame_unref(frame);
    close_source(source);
}

static void test_a_frame_outlives_its_source(void **state)
{
    struct config_camera wish = camera_wish();
    struct source *source = start_source("size=64x48 fps=200", &wish);
    struct frame *frame = next_frame(source);

    (void)state;
    close_source(source);
    assert_picture(frame, (const char *const[]){"YUYV"});
    frame_unref(frame);
}

static void test_capture_time_is_the_drivers_when_it_is_monotonic(void **state)
{
    struct config_camera wish = camera_wish();
    const char *const clocks[] = {"size=64x48 fps=200", "size=64x48 fps=200 clock=none"};

    (void)state;
    for (int none = 0; none < 2; none++) {
        int64_t before_ns = clock_now_ns();
        struct source *source = start_source(clocks[none], &wish);
        struct frame *frame = next_frame(source);

        assert_true(frame->pts_ns >= before_ns && frame->pts_ns <= clock_now_ns());
        assert_int_equal(frame->pts_ns == frame->grabbed_ns, none);
        frame_unref(frame);
        close_source(source);
    }
}

static void test_an_unplugged_camera_ends_the_source_and_opens_again(void **state)
{
    struct config_camera wish = camera_wish();
    struct source *source = start_source("size=64x48 fps=200 unplug-after=3", &wish);
    struct frame *frame = NULL;
    struct error error = {0};
    int r;

    (void)state;
    while ((r = source_v4l2_ops.next(source, 2000, &error, &frame)) == 0) {
        frame_unref(frame);
    }
    assert_int_equal(r, -ENODEV);
    assert_string_equal(error.text, "/dev/video0 is gone (unplugged)");
    close_source(source);
    source = start_source("size=64x48 fps=200", &wish);
    frame_unref(next_frame(source));
    close_source(source);
}

static void test_a_silent_camera_is_asked_again(void **state)
{
    struct config_camera wish = camera_wish();
    struct source *source = start_source("size=64x48 silent=1", &wish);
    struct frame *frame = NULL;
    struct error error = {0};

    (void)state;
    for (int i = 0; i < 3; i++) {
        int64_t before_ns = clock_now_ns();

        assert_int_equal(source_v4l2_ops.next(source, 20, &error, &frame), -EAGAIN);
        assert_true(clock_now_ns() - before_ns >= 20 * NS_PER_MS);
    }
    close_source(source);
}

static void test_what_cannot_be_opened_says_why(void **state)
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
        {"lie=size", "/dev/video0", -ENOTSUP, "the driver's numbers make no picture"},
        {"lie=stride", "/dev/video0", -ENOTSUP, "the driver's numbers make no picture"},
        {"lie=zero", "/dev/video0", -ENOTSUP, "the driver's numbers make no picture"},
        {"device=/nowhere", "", -ENODEV, "no capture device in /dev/v4l/by-path or /dev/video0..63"},
        {"busy=format device=/dev/video7", "", -ENODEV,
         "no camera can be used: /dev/video7 is busy: another program streams from it"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct config_camera wish = camera_wish();
        struct source *source;
        struct error error;

        wish.device = (char *)cases[i].device;
        assert_int_equal(open_source(cases[i].camera, &wish, &error, &source), cases[i].code);
        if (!strstr(error.text, cases[i].text)) {
            fail_msg("case %zu: %s", i, error.text);
        }
    }
}

static void test_a_camera_busy_at_start_says_so(void **state)
{
    struct config_camera wish = camera_wish();
    struct source *source;
    struct error error;

    (void)state;
    assert_int_equal(open_source("busy=stream", &wish, &error, &source), 0);
    assert_int_equal(source_v4l2_ops.start(source, &error), -EBUSY);
    assert_string_equal(error.text, "/dev/video0 is busy: another program streams from it");
    close_source(source);
}

static void test_an_empty_device_takes_the_first_camera_that_works(void **state)
{
    struct config_camera wish = camera_wish();
    struct source *source;

    (void)state;
    wish.device = (char *)"";
    source = start_source("device=/dev/video5 size=64x48 fps=200", &wish);
    frame_unref(next_frame(source));
    close_source(source);
}

static void test_a_format_the_camera_lacks_lists_what_it_has(void **state)
{
    struct config_camera wish = camera_wish();
    struct source *source;
    struct error error;

    (void)state;
    wish.format = (char *)"NV12";
    assert_int_equal(open_source("format=YUYV,MJPG", &wish, &error, &source), -ENOTSUP);
    assert_string_equal(error.text, "/dev/video0 has no format edged can use as NV12; it offers "
                                    "YUYV, MJPG, YU12");
}

static void test_a_driver_that_lies_about_buffers_does_no_harm(void **state)
{
    struct config_camera wish = camera_wish();
    struct source *source = start_source("size=64x48 fps=200 lie=index", &wish);
    struct frame *frame = NULL;
    struct error error = {0};

    (void)state;
    assert_int_equal(source_v4l2_ops.next(source, 2000, &error, &frame), -EIO);
    close_source(source);
    source = start_source("size=64x48 fps=200 lie=bytes", &wish);
    assert_int_equal(source_v4l2_ops.next(source, 50, &error, &frame), -EAGAIN);
    assert_in_range(source->counters.corrupted, 1, 100);
    close_source(source);
}

static int control_value(uint32_t id)
{
    struct v4l2_control query = {.id = id};
    int fd = v4l2_open("/dev/video0", O_RDWR);

    assert_int_equal(v4l2_ioctl(fd, VIDIOC_G_CTRL, &query), 0);
    v4l2_close(fd);
    return query.value;
}

static void test_controls_are_set_in_order_at_every_open(void **state)
{
    struct config_control wanted[] = {{(char *)"brightness", 7},
                                      {(char *)"white_balance_automatic", 0},
                                      {(char *)"white_balance_temperature", 3200}};
    struct config_camera wish = camera_wish();
    struct v4l2_control other = {.id = V4L2_CID_BRIGHTNESS, .value = 99};

    (void)state;
    wish.controls = wanted;
    wish.control_count = ARRAY_LENGTH(wanted);
    for (int i = 0; i < 2; i++) {
        close_source(start_source("size=64x48", &wish));
        assert_int_equal(control_value(V4L2_CID_BRIGHTNESS), 7);
        assert_int_equal(control_value(V4L2_CID_AUTO_WHITE_BALANCE), 0);
        assert_int_equal(control_value(V4L2_CID_WHITE_BALANCE_TEMPERATURE), 3200);
        fake_control(&other, true); // somebody else's hand
    }
    fake_reset_controls();
}

static void test_wrong_controls_say_what_is_allowed(void **state)
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

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_userptr_delivers_every_format_without_a_copy),
        cmocka_unit_test(test_mmap_delivers_every_format_with_one_copy),
        cmocka_unit_test(test_a_driver_that_refuses_userptr_gets_mmap),
        cmocka_unit_test(test_a_format_nobody_knows_goes_through_libv4l2_and_is_counted),
        cmocka_unit_test(test_range_is_what_the_driver_says),
        cmocka_unit_test(test_negotiation_finds_the_nearest_mode),
        cmocka_unit_test(test_flagged_and_short_buffers_are_counted_and_not_handed_out),
        cmocka_unit_test(test_sequence_gaps_count_as_dropped),
        cmocka_unit_test(test_the_newest_of_several_frames_wins),
        cmocka_unit_test(test_frames_in_use_are_not_with_the_driver),
        cmocka_unit_test(test_a_frame_outlives_its_source),
        cmocka_unit_test(test_capture_time_is_the_drivers_when_it_is_monotonic),
        cmocka_unit_test(test_an_unplugged_camera_ends_the_source_and_opens_again),
        cmocka_unit_test(test_a_silent_camera_is_asked_again),
        cmocka_unit_test(test_what_cannot_be_opened_says_why),
        cmocka_unit_test(test_a_camera_busy_at_start_says_so),
        cmocka_unit_test(test_an_empty_device_takes_the_first_camera_that_works),
        cmocka_unit_test(test_a_format_the_camera_lacks_lists_what_it_has),
        cmocka_unit_test(test_a_driver_that_lies_about_buffers_does_no_harm),
        cmocka_unit_test(test_controls_are_set_in_order_at_every_open),
        cmocka_unit_test(test_wrong_controls_say_what_is_allowed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
