#include "capture/gstreamer/source_gstreamer.h"
#include "tests/unit/capture/counting_allocator.h"
#include "tests/unit/capture/source_harness.h"

#include <gst/gst.h>

static const struct source_ops *const ops = &source_gstreamer_ops;

static uint64_t copies_after(struct harness *harness, const char *pipeline, int frames)
{
    harness_init(harness);
    harness->camera.pipeline = (char *)pipeline;
    harness_start(harness, ops);
    for (int i = 0; i < frames; i++)
        frame_unref(harness_next(harness));
    return harness->copies.count[COPY_GSTREAMER_FALLBACK];
}

TEST(test_elements_that_take_the_pool_cost_no_copy)
{
    static const char *const pipelines[] = {
        "videotestsrc ! video/x-raw,format=I420",
        "videotestsrc is-live=true ! video/x-raw,format=YUY2 ! queue",
        "videotestsrc ! video/x-raw,format=RGB ! videoconvert ! video/x-raw,format=NV12",
        "videotestsrc ! jpegenc ! jpegdec",
        "videotestsrc ! videorate",
    };
    struct harness harness;

    for (size_t i = 0; i < ARRAY_LENGTH(pipelines); i++) {
        assert_int_equal(copies_after(&harness, pipelines[i], 10), 0);
        source_close(harness.source);
    }
}

TEST(test_an_element_that_ignores_the_pool_costs_one_counted_copy_a_frame)
{
    struct harness harness;

    assert_int_equal(copies_after(&harness, "videotestsrc ! identity drop-allocation=true", 10),
                     10);
    source_close(harness.source);
}

// It may be the last one of a burst. A pipeline whose pictures are rare says so.
TEST(test_after_its_first_picture_a_pipeline_may_pause_as_between_bursts)
{
    static const struct {
        const char *pipeline;
        int64_t period_ns;
    } cases[] = {
        {"videotestsrc ! video/x-raw,framerate=25/1", 1200 * NS_PER_MS},
        {"videotestsrc ! video/x-raw,framerate=1/5", 5 * NS_PER_S},
    };
    struct harness harness;

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        copies_after(&harness, cases[i].pipeline, 1);
        assert_int_equal(harness.source->period_ns, cases[i].period_ns);
        source_close(harness.source);
    }
}

// videorate sends one memory again and again: only the first may be handed out as it is, and is not
// to be written into.
TEST(test_a_repeated_buffer_is_not_handed_out_twice)
{
    struct harness harness;
    struct frame *first, *second;

    harness_init(&harness);
    harness.camera.pipeline = (char *)"videotestsrc ! video/x-raw,framerate=1/600 ! videorate "
                                      "! video/x-raw,framerate=30/1";
    harness_start(&harness, ops);
    first = harness_next(&harness);
    second = harness_next(&harness);
    assert_true(first->lent);
    assert_ptr_not_equal(first->data, second->data);
    assert_memory_equal(first->data, second->data, first->layout.size);
    frame_unref(first);
    frame_unref(second);
    source_close(harness.source);
}

// Frames in use keep their picture: upstream never gets them to write into.
TEST(test_frames_in_use_are_not_lent_again)
{
    struct harness harness;
    struct frame *held, *frame;
    uint8_t *before;

    harness_init(&harness);
    harness.camera.fps = 100;
    harness.camera.pipeline = (char *)"videotestsrc is-live=true pattern=ball";
    harness_start(&harness, ops);
    held = harness_next(&harness);
    before = malloc(held->layout.size);
    memcpy(before, held->data, held->layout.size);
    for (int i = 0; i < 20; i++) {
        frame = harness_next(&harness);
        assert_ptr_not_equal(frame, held);
        assert_false(frame->lent);
        frame_unref(frame);
    }
    assert_memory_equal(before, held->data, held->layout.size);
    source_close(harness.source);
    assert_memory_equal(before, held->data, held->layout.size);
    frame_unref(held);
    free(before);
}

// A thread of GStreamer's may do so for a while after a live pipeline has begun to play.
TEST(test_no_memory_stays_with_a_pipeline_that_somebody_holds)
{
    struct counting counting = {.fail_at = -1};
    struct frame_allocator allocator = counting_allocator(&counting);
    struct harness harness;
    GstElement *pipeline;

    harness_init(&harness);
    harness.environment.allocator = &allocator;
    harness.camera.pipeline = (char *)"videotestsrc is-live=true";
    harness_start(&harness, ops);
    frame_unref(harness_next(&harness));
    assert_true(counting.out > 0);
    pipeline = intake_pipeline(((struct source_gstreamer *)harness.source)->intake);
    gst_object_ref(pipeline);
    source_close(harness.source);
    assert_int_equal(counting.out, 0);
    gst_object_unref(pipeline);
}

// The first three bars of SMPTE EG 1 at 75 %: gray, yellow, cyan, as BT.601 limited range.
TEST(test_smpte_bars_have_their_standard_values)
{
    static const uint8_t bars[3][3] = {{180, 128, 128}, {162, 44, 142}, {131, 156, 44}};
    struct harness harness;
    struct frame *frame;

    harness_init(&harness);
    harness.camera.format = (char *)"YU12";
    harness.camera.width = 350;
    harness.camera.pipeline = (char *)"videotestsrc pattern=smpte75";
    harness_start(&harness, ops);
    assert_string_equal(harness.source->mode.description, "GStreamer YU12 350x240@30");
    assert_int_equal(harness.source->mode.layout.range, FRAME_RANGE_LIMITED);
    frame = harness_next(&harness);
    for (unsigned bar = 0; bar < 3; bar++) {
        for (unsigned plane = 0; plane < 3; plane++) {
            unsigned x = (bar * 50 + 25) / (plane ? 2 : 1);

            assert_in_range(frame_plane(frame, plane)[x], bars[bar][plane] - 1u,
                            bars[bar][plane] + 1u);
        }
    }
    frame_unref(frame);
    source_close(harness.source);
}

TEST(test_range_and_colour_come_from_the_colorimetry)
{
    static const struct {
        const char *caps;
        enum frame_range range;
        struct frame_colour colour; // primaries, transfer, matrix
    } cases[] = {
        {"format=I420,height=48,colorimetry=bt709", FRAME_RANGE_LIMITED, {1, 1, 1}},
        {"format=NV12,height=720,colorimetry=2:4:16:4", FRAME_RANGE_LIMITED, {6, 6, 6}},
        {"format=I420,height=48,colorimetry=1:4:0:0", FRAME_RANGE_FULL, {6, 6, 6}},
        {"format=I420,height=720,colorimetry=1:4:0:0", FRAME_RANGE_FULL, {1, 1, 6}},
        {"format=I420,height=720,colorimetry=bt2020", FRAME_RANGE_LIMITED, {9, 15, 9}},
        {"format=Y444,height=48,colorimetry=smpte240m", FRAME_RANGE_LIMITED, {7, 7, 7}},
        {"format=GRAY8,height=48,colorimetry=2:0:0:0", FRAME_RANGE_LIMITED, {6, 6, 6}},
        {"format=BGRx,height=720,colorimetry=sRGB", FRAME_RANGE_FULL, {1, 13, 0}},
        {"format=RGB,height=720", FRAME_RANGE_FULL, {1, 13, 0}},
    };
    struct harness harness;

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        g_autofree char *pipeline =
            g_strdup_printf("videotestsrc ! video/x-raw,width=64,%s", cases[i].caps);

        copies_after(&harness, pipeline, 1);
        assert_int_equal(harness.source->mode.layout.range, cases[i].range);
        assert_memory_equal(&harness.source->mode.layout.colour, &cases[i].colour,
                            sizeof cases[i].colour);
        source_close(harness.source);
    }
}

// The height stays; 352 * 16 / 11 and 352 * 12 / 11.
TEST(test_pixels_of_another_aspect_are_made_square)
{
    static const struct {
        const char *pipeline;
        uint32_t width, height;
    } shapes[] = {
        {"videotestsrc ! video/x-raw,format=I420,width=352,height=288,pixel-aspect-ratio=16/11",
         512, 288},
        {"videotestsrc is-live=true ! "
         "video/x-raw,format=NV12,width=352,height=288,pixel-aspect-ratio=12/11",
         384, 288},
        {"videotestsrc ! video/x-raw,width=352,height=288,pixel-aspect-ratio=1/1", 352, 288},
    };
    struct harness harness;

    for (size_t i = 0; i < ARRAY_LENGTH(shapes); i++) {
        harness_init(&harness);
        harness.camera.pipeline = (char *)shapes[i].pipeline;
        harness_start(&harness, ops);
        assert_int_equal(harness.source->mode.layout.width, shapes[i].width);
        assert_int_equal(harness.source->mode.layout.height, shapes[i].height);
        frame_unref(harness_next(&harness));
        source_close(harness.source);
    }
}

TEST(test_capture_times_are_monotonic_clock_times)
{
    struct harness harness;
    int64_t last_ns = clock_now_ns();

    harness_init(&harness);
    harness.camera.pipeline = (char *)"videotestsrc is-live=true";
    harness_start(&harness, ops);
    for (uint64_t i = 0; i < 5; i++) {
        struct frame *frame = harness_next(&harness);

        assert_true(frame->pts_ns > last_ns);
        assert_true(frame->pts_ns <= frame->grabbed_ns + NS_PER_MS);
        assert_true(frame->grabbed_ns - frame->pts_ns < at_most_ns(NS_PER_S / 2));
        last_ns = frame->pts_ns;
        frame_unref(frame);
    }
    source_close(harness.source);
}

TEST(test_frames_nobody_took_in_time_are_dropped_and_counted)
{
    struct harness harness;
    uint64_t begin, dropped, taken = 0;
    struct frame *frame;

    harness_init(&harness);
    harness.camera.fps = 100;
    harness.camera.pipeline = (char *)"videotestsrc is-live=true";
    harness_start(&harness, ops);
    frame = harness_next(&harness);
    begin = frame->sequence;
    dropped = harness.source->counters.dropped; // a slow start has some
    while (harness.source->counters.dropped < dropped + 5) {
        frame_unref(frame);
        g_usleep(200000); // the lane is busy for twenty periods, and its producer perhaps, too
        frame = harness_next(&harness);
        taken++;
    }
    assert_int_equal(frame->sequence - begin, harness.source->counters.dropped - dropped + taken);
    frame_unref(frame);
    source_close(harness.source);
}

TEST(test_bad_fragments_are_refused_with_a_sentence)
{
    static const struct {
        const char *pipeline, *says;
    } cases[] = {
        {"", "syntax error"},
        {"videotestsrc !", "syntax error"},
        {"nosuchelement", "nosuchelement"},
        {"videotestsrc ! fakesink", "could not link"},
        {"audiotestsrc", "could not link"},
        {"videotestsrc nosuchproperty=1", "nosuchproperty"},
        {"audiotestsrc ! decodebin", "no video comes out"},
        {"videotestsrc ! video/x-raw,format=v210", "could not link"},
    };
    struct harness harness;

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        harness_init(&harness);
        harness.camera.pipeline = (char *)cases[i].pipeline;
        assert_int_equal(harness_open(&harness, ops), -EINVAL);
        assert_contains(harness.error.text, "pipeline");
        assert_contains(harness.error.text, cases[i].says);
    }
}

TEST(test_formats_no_pipeline_delivers_are_refused)
{
    struct harness harness;

    harness_init(&harness);
    harness.camera.pipeline = (char *)"videotestsrc";
    harness.camera.format = (char *)"MJPG";
    assert_int_equal(harness_open(&harness, ops), -ENOTSUP);
    assert_contains(harness.error.text, "MJPG");
    harness.camera.format = (char *)"pRAA"; // raw samples
    assert_int_equal(harness_open(&harness, ops), -ENOTSUP);
    assert_contains(harness.error.text, "pRAA");
}

TEST(test_a_pipeline_without_frames_times_out)
{
    struct harness harness;

    harness_init(&harness);
    harness.camera.pipeline = (char *)"appsrc ! video/x-raw";
    assert_int_equal(harness_open(&harness, ops), -ETIMEDOUT);
    assert_contains(harness.error.text, "delivered nothing within 5 s");
}

int main(int argc, char **argv)
{
    gst_init(&argc, &argv);
    return run_unit_tests(NULL, NULL);
}
