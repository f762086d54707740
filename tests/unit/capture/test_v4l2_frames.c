// Frames of a V4L2 camera: their pixels, copies, order, time and life. What the fake camera shows
// is computed here from its description, not with its code.
#include "tests/unit/capture/v4l2_source.h"

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

// `planes`: the bytes of one group of each plane, as letters, as FourCC documents write them, with
// commas between planes.
static void assert_picture(const struct frame *frame, const char *planes)
{
    for (unsigned p = 0; p < frame->layout.format->plane_count; p++) {
        size_t group = strcspn(planes, ",");

        if (group == 0) {
            fail_msg("%s has more planes than expected", frame->layout.format->name);
            return;
        }
        for (uint32_t y = 0; y < frame->layout.planes[p].rows; y++) {
            const uint8_t *row = frame_plane(frame, p) + y * frame->layout.planes[p].stride;

            for (uint32_t i = 0; i < frame->layout.planes[p].width_bytes; i++) {
                char component = planes[i % group];
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
        planes += planes[group] ? group + 1 : group;
    }
}

static const struct {
    const char *name;
    const char *planes;
    const char *camera, *padded;
} formats[] = {
    {"YUYV", "YUYV", "format=YUYV size=64x48 fps=200", "format=YUYV size=64x48 fps=200 stride=20"},
    {"UYVY", "UYVY", "format=UYVY size=64x48 fps=200", "format=UYVY size=64x48 fps=200 stride=20"},
    {"NV12", "Y,UV", "format=NV12 size=64x48 fps=200", "format=NV12 size=64x48 fps=200 stride=20"},
    {"NV21", "Y,VU", "format=NV21 size=64x48 fps=200", "format=NV21 size=64x48 fps=200 stride=20"},
    {"YU12", "Y,U,V", "format=YU12 size=64x48 fps=200", "format=YU12 size=64x48 fps=200 stride=20"},
    {"GREY", "Y", "format=GREY size=64x48 fps=200", "format=GREY size=64x48 fps=200 stride=20"},
    {"RGB3", "RGB", "format=RGB3 size=64x48 fps=200", "format=RGB3 size=64x48 fps=200 stride=20"},
    {"BGR3", "BGR", "format=BGR3 size=64x48 fps=200", "format=BGR3 size=64x48 fps=200 stride=20"},
    {"XR24", "BGRx", "format=XR24 size=64x48 fps=200", "format=XR24 size=64x48 fps=200 stride=20"},
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

TEST(test_userptr_delivers_every_format_without_a_copy)
{
    assert_formats(CONFIG_V4L2_IO_AUTO, 0, "USERPTR");
}

TEST(test_mmap_delivers_every_format_with_one_copy)
{
    assert_formats(CONFIG_V4L2_IO_MMAP, 1, "MMAP");
}

TEST(test_a_driver_that_refuses_userptr_gets_mmap)
{
    const char *const cameras_without[] = {"size=64x48 userptr=no", "size=64x48 userptr=qbuf"};
    struct config_camera wish = camera_wish();
    struct source *source;
    struct error error;

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

TEST(test_a_driver_that_refuses_userptr_once_is_asked_again)
{
    struct config_camera wish = camera_wish();
    struct source *source = start_source("size=64x48 userptr=once", &wish);

    assert_string_equal(source->mode.description, "V4L2 USERPTR YUYV 64x48@30");
    assert_string_equal(source->userptr_missed.text, "");
    close_source(source);
}

// An allocator for a GPU that takes memory of others, of which `lent_most` pieces at a time.
static unsigned lent, lent_most;

static int count_lent(void *context, void *memory, size_t size)
{
    (void)context;
    assert_int_equal((uintptr_t)memory % 4096, 0);
    assert_true(size >= 64 * 48 * 2);
    if (lent == lent_most)
        return -EINVAL;
    lent++;
    return 0;
}

static void count_returned(void *context, void *memory)
{
    (void)context;
    memset(memory, 0, 64); // is still there
    lent--;
}

static void use_lending_allocator(struct frame_allocator *allocator, unsigned most)
{
    *allocator = *frame_allocator_host();
    allocator->lend = count_lent;
    allocator->end_loan = count_returned;
    source_allocator = allocator;
    lent = 0;
    lent_most = most;
}

TEST(test_the_drivers_buffers_are_used_where_they_are)
{
    struct config_camera wish = camera_wish();
    struct frame_allocator allocator;
    struct frame *held[3];

    use_lending_allocator(&allocator, 32);
    struct source *source = start_source("size=64x48 fps=200 stride=20 userptr=no", &wish);
    assert_string_equal(source->mode.description, "V4L2 MMAP YUYV 64x48@200");
    assert_string_equal(source->userptr_missed.text, "/dev/video0: the driver refuses USERPTR");
    for (int i = 0; i < 40; i++) { // more than there are buffers
        struct frame *frame = next_frame(source);

        assert_picture(frame, "YUYV");
        frame_unref(frame);
    }
    for (int i = 0; i < 3; i++)
        held[i] = next_frame(source);
    frame_unref(next_frame(source));
    close_source(source);
    assert_int_equal(copies_total(&copies), 0);
    assert_true(lent > 0); // frames outlive their source
    for (int i = 0; i < 3; i++) {
        assert_picture(held[i], "YUYV");
        frame_unref(held[i]);
    }
    assert_int_equal(lent, 0);
    source_allocator = NULL;
}

TEST(test_buffers_that_the_gpu_does_not_take_are_copied)
{
    struct config_camera wish = camera_wish();
    struct frame_allocator allocator;

    for (unsigned most = 0; most < 3; most++) {
        use_lending_allocator(&allocator, most);
        struct source *source = start_source("size=64x48 fps=200 userptr=no", &wish);
        struct frame *frame = next_frame(source);
        assert_picture(frame, "YUYV");
        frame_unref(frame);
        assert_int_equal(copies.count[COPY_MMAP_FALLBACK], 1);
        assert_int_equal(lent, 0);
        close_source(source);
        source_allocator = NULL;
    }
}

TEST(test_a_format_nobody_knows_goes_through_libv4l2_and_is_counted)
{
    struct config_camera wish = camera_wish();
    struct source *source = start_source("format=M420 size=64x48 fps=200", &wish);
    struct frame *frame = next_frame(source);

    assert_string_equal(source->mode.description, "V4L2 MMAP libv4l2 -> YU12 64x48@200");
    assert_picture(frame, "Y,U,V");
    assert_int_equal(copies.count[COPY_LIBV4L_CONVERT], 1);
    assert_int_equal(copies.count[COPY_MMAP_FALLBACK], 1);
    frame_unref(frame);
    close_source(source);
}

// A Jetson's has a plugin that would take the camera for another.
TEST(test_libv4l2_is_given_no_camera_that_it_need_not_convert)
{
    struct config_camera wish = camera_wish();

    fake_library_opens = 0;
    close_source(start_source("format=YUYV size=64x48 fps=200", &wish));
    assert_int_equal(fake_library_opens, 0);
    close_source(start_source("format=M420 size=64x48 fps=200", &wish));
    assert_int_equal(fake_library_opens, 1);
}

TEST(test_flagged_and_short_buffers_are_counted_and_not_handed_out)
{
    const char *const broken[] = {"size=64x48 fps=200 error-every=2",
                                  "size=64x48 fps=200 short-every=2"};
    struct config_camera wish = camera_wish();

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

TEST(test_sequence_gaps_count_as_dropped)
{
    struct config_camera wish = camera_wish();
    struct source *source = start_source("size=64x48 fps=100 gap-every=3", &wish);
    uint64_t last = 0;

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

// So rarely that no busy machine lets three bursts wait, for which the buffers are too few.
TEST(test_the_newest_of_several_frames_wins)
{
    struct config_camera wish = camera_wish();
    struct source *source = start_source("size=64x48 fps=2 burst=3", &wish);
    struct frame *frame = next_frame(source);

    assert_int_equal(frame->sequence % 3, 2); // the last of its burst
    assert_picture(frame, "YUYV");
    assert_int_equal(source->counters.dropped, frame->sequence);
    frame_unref(frame);
    close_source(source);
}

TEST(test_frames_in_use_are_not_with_the_driver)
{
    struct config_camera wish = camera_wish();
    struct source *source = start_source("size=64x48 fps=200", &wish);
    struct frame *held[8];
    struct frame *frame = NULL;
    struct error error = {0};

    for (int i = 0; i < 8; i++)
        held[i] = next_frame(source);
    assert_int_equal(source_v4l2_ops.next(source, 50, &error, &frame), -EAGAIN);
    for (int i = 0; i < 8; i++) {
        assert_picture(held[i], "YUYV");
        frame_unref(held[i]);
    }
    frame = next_frame(source);
    assert_in_range(source->counters.dropped, 1, 1000); // the driver had nowhere to write
    frame_unref(frame);
    close_source(source);
}

TEST(test_a_frame_outlives_its_source)
{
    struct config_camera wish = camera_wish();
    struct source *source = start_source("size=64x48 fps=200", &wish);
    struct frame *frame = next_frame(source);

    close_source(source);
    assert_picture(frame, "YUYV");
    frame_unref(frame);
}

// A capture card's picture is as large as the signal, of which it tells when it changes.
TEST(test_a_signal_is_taken_as_it_comes_and_opened_again_when_it_changes)
{
    const char *const card = "size=640x480 dv=64x48 dv-change-after=3 fps=200";
    struct config_camera wish = camera_wish();
    struct source *source = start_source(card, &wish);
    struct frame *frame = NULL;
    struct error error = {0};
    int r = 0;

    assert_int_equal(source->mode.layout.width, 64);
    for (int i = 0; i < 100 && (r == 0 || r == -EAGAIN); i++) {
        r = source_v4l2_ops.next(source, 1000, &error, &frame);
        if (r == 0)
            frame_unref(frame);
    }
    assert_int_equal(r, -EIO);
    assert_string_equal(error.text, "/dev/video0: the signal at its input has changed");
    close_source(source);
    source = start_source("size=640x480 dv=64x48 fps=200", &wish);
    assert_int_equal(source->mode.layout.width, 128);
    frame_unref(next_frame(source));
    close_source(source);
    signal_factor = 1;
}

TEST(test_urgent_news_without_an_end_keeps_no_core_busy)
{
    static const char *const cards[] = {"size=640x480 dv=64x48 lie=urgent fps=50",
                                        "size=640x480 dv=64x48 lie=events fps=50"};
    struct config_camera wish = camera_wish();

    for (size_t i = 0; i < ARRAY_LENGTH(cards); i++) {
        struct source *source = start_source(cards[i], &wish);

        fake_waits = 0;
        for (int frame = 0; frame < 20; frame++)
            frame_unref(next_frame(source));
        assert_in_range(fake_waits, 20, 1000); // one that asks again at once: 100,000 and more
        close_source(source);
    }
}

TEST(test_capture_time_is_the_drivers_when_it_is_monotonic)
{
    struct config_camera wish = camera_wish();
    const char *const clocks[] = {"size=64x48 fps=200", "size=64x48 fps=200 clock=none"};

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

TEST(test_a_driver_that_lies_about_buffers_does_no_harm)
{
    struct config_camera wish = camera_wish();
    struct source *source = start_source("size=64x48 fps=200 lie=index", &wish);
    struct frame *frame = NULL;
    struct error error = {0};

    assert_int_equal(source_v4l2_ops.next(source, 2000, &error, &frame), -EIO);
    close_source(source);
    source = start_source("size=64x48 fps=200 lie=bytes", &wish);
    assert_int_equal(source_v4l2_ops.next(source, 50, &error, &frame), -EAGAIN);
    assert_in_range(source->counters.corrupted, 1, 100);
    close_source(source);
}

RUN_TESTS(NULL, NULL)
