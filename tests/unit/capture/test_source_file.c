// Runs from the root of the repository, for tests/data.
#define GST_USE_UNSTABLE_API // of tracers, in GStreamer 1.16

#include "tests/unit/capture/source_harness.h"

#include <gst/app/gstappsink.h>
#include <gst/gst.h>
#include <stdio.h>

// A tracer holds up what the elements of pipelines say, as on a busy machine.

// How late an appsink tells that it has a picture and may play, from now on; 0 at first.
static _Atomic gulong late_sink_us;
// How long a seek takes from pad to pad, and how many seeks are under way.
static _Atomic gulong late_seek_us;
static _Atomic int late_seeks;
static _Thread_local GstPad *late_seek_pad; // where this thread's began

typedef GstTracer LatePipeline;
typedef GstTracerClass LatePipelineClass;
GType late_pipeline_get_type(void);
G_DEFINE_TYPE(LatePipeline, late_pipeline, GST_TYPE_TRACER)

static void late_pipeline_on_message(GObject *tracer, GstClockTime time, GstElement *element,
                                     GstMessage *message)
{
    (void)tracer;
    (void)time;
    if (GST_IS_APP_SINK(element) && GST_MESSAGE_TYPE(message) == GST_MESSAGE_ASYNC_DONE)
        g_usleep(late_sink_us);
}

static void late_pipeline_on_event(GObject *tracer, GstClockTime time, GstPad *pad, GstEvent *event)
{
    (void)tracer;
    (void)time;
    if (GST_EVENT_TYPE(event) != GST_EVENT_SEEK)
        return;
    if (!late_seek_pad) {
        late_seek_pad = pad;
        late_seeks++;
    }
    g_usleep(late_seek_us);
}

static void late_pipeline_on_event_sent(GObject *tracer, GstClockTime time, GstPad *pad,
                                        gboolean sent)
{
    (void)tracer;
    (void)time;
    (void)sent;
    if (pad == late_seek_pad) {
        late_seek_pad = NULL;
        late_seeks--;
    }
}

static void late_pipeline_class_init(LatePipelineClass *class)
{
    (void)class;
}

static void late_pipeline_init(LatePipeline *self)
{
    GstTracer *tracer = GST_TRACER(self);

    gst_tracing_register_hook(tracer, "element-post-message-pre",
                              G_CALLBACK(late_pipeline_on_message));
    gst_tracing_register_hook(tracer, "pad-push-event-pre", G_CALLBACK(late_pipeline_on_event));
    gst_tracing_register_hook(tracer, "pad-push-event-post",
                              G_CALLBACK(late_pipeline_on_event_sent));
}

// After gst_init(), once; for the rest of the program.
static void late_pipeline_install(void)
{
    static LatePipeline *tracer;

    tracer = tracer ? tracer : g_object_new(late_pipeline_get_type(), NULL);
}

static const struct source_ops *const ops = &source_file_ops;
static char directory[] = "/tmp/edged-clips-XXXXXX";

// `name` in the test's directory. Valid until the next call.
static char *in_directory(const char *name)
{
    static char path[128];

    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

#define PICTURES " ! video/x-raw,format=I420,width=160,height=120,framerate=50/1 ! "

// Runs a fragment that ends in a muxer into a file.
static void record(const char *fragment, const char *path)
{
    g_autofree char *text = g_strdup_printf("%s ! filesink location=%s", fragment, path);
    GstElement *pipeline = gst_parse_launch(text, NULL);
    GstBus *bus = gst_element_get_bus(pipeline);
    GstMessage *message;

    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    message = gst_bus_timed_pop_filtered(bus, PATIENCE_NS, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
    assert_non_null(message);
    assert_int_equal(GST_MESSAGE_TYPE(message), GST_MESSAGE_EOS);
    gst_message_unref(message);
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(bus);
    gst_object_unref(pipeline);
}

static void record_clip(int frames, const char *encoder_and_muxer, const char *path)
{
    g_autofree char *text = g_strdup_printf(
        "videotestsrc num-buffers=%d pattern=ball" PICTURES "%s", frames, encoder_and_muxer);

    record(text, path);
}

// Writes the first `size` bytes of a file to `path`.
static void truncate_copy(const char *from, size_t size, const char *path)
{
    g_autofree char *bytes = NULL;
    gsize length;

    assert_true(g_file_get_contents(from, &bytes, &length, NULL));
    assert_true(g_file_set_contents(path, bytes, (gssize)(size < length ? size : length), NULL));
}

// Frames come one after the other, by the clock none later after the one before it than
// `gap_max_ns` for each picture that was counted as not taken in time.
static void assert_loops(const char *path, int frames, int64_t gap_max_ns)
{
    struct harness harness;
    uint64_t dropped = 0;
    int64_t last_ns = 0;

    harness_init(&harness);
    harness.camera.path = (char *)path;
    harness_start(&harness, ops);
    for (int i = 0; i < frames; i++) {
        struct frame *frame = harness_next(&harness);
        int64_t gaps = 1 + (int64_t)(harness.source->counters.dropped - dropped);

        assert_true(frame->pts_ns > last_ns);
        assert_true(last_ns == 0 || frame->pts_ns - last_ns <= at_most_ns(gaps * gap_max_ns));
        last_ns = frame->pts_ns;
        dropped = harness.source->counters.dropped;
        frame_unref(frame);
    }
    source_close(harness.source);
}

TEST(test_clips_loop_without_a_seam)
{
    static const char *const recipes[] = {
        "jpegenc ! avimux", "x264enc key-int-max=5 ! mp4mux", "x264enc ! matroskamux",
        "theoraenc ! oggmux", // whose time runs on from the end of the last picture
    };

    for (size_t i = 0; i < ARRAY_LENGTH(recipes); i++) {
        record_clip(10, recipes[i], in_directory("short"));
        assert_loops(in_directory("short"), 35, 25 * NS_PER_MS);
    }
}

// The demuxer is rounds ahead of what is shown, and with one of these lengths its queue is just
// full when it has read a round before the pipeline plays.
TEST(test_clips_of_a_few_frames_loop_without_a_seam)
{
    static const char *const recipes[] = {"jpegenc ! avimux", "x264enc ! mp4mux"};

    late_sink_us = 50000;
    for (size_t i = 0; i < ARRAY_LENGTH(recipes); i++) {
        for (int frames = 1; frames <= 8; frames++) {
            record_clip(frames, recipes[i], in_directory("short"));
            assert_loops(in_directory("short"), 2 * frames + 1, 25 * NS_PER_MS);
        }
    }
    late_sink_us = 0;
}

TEST(test_clips_that_cannot_be_played_as_segments_are_begun_anew)
{
    record_clip(10, "x264enc ! mpegtsmux", in_directory("short")); // the demuxer refuses
    assert_loops(in_directory("short"), 25, 500 * NS_PER_MS);
    record_clip(1, "jpegenc ! matroskamux", in_directory("short")); // it says no more than "done"
    assert_loops(in_directory("short"), 6, 500 * NS_PER_MS);
}

// The demuxer waits for itself at the end of a round.
TEST(test_clips_that_hang_between_rounds_are_begun_anew)
{
    record_clip(50, "x264enc ! flvmux", in_directory("short"));
    assert_loops(in_directory("short"), 160, 500 * NS_PER_MS);
    record_clip(1, "x264enc ! flvmux", in_directory("short"));
    assert_loops(in_directory("short"), 6, 500 * NS_PER_MS);
}

// One that came to a demuxer after its pipeline has ended would start a thread that nobody ends.
TEST(test_no_seek_outlives_its_clip)
{
    static const char *const recipes[] = {"x264enc ! flvmux", "x264enc ! mp4mux",
                                          "jpegenc ! avimux", "x264enc ! matroskamux"};

    for (size_t i = 0; i < ARRAY_LENGTH(recipes); i++) {
        struct harness harness;

        record_clip(10, recipes[i], in_directory("short"));
        harness_init(&harness);
        harness.camera.path = in_directory("short");
        harness_start(&harness, ops);
        late_seek_us = 20000;
        while (late_seeks == 0)
            frame_unref(harness_next(&harness));
        source_close(harness.source);
        assert_int_equal(late_seeks, 0);
        late_seek_us = 0;
    }
}

// Its demuxer waits for room in a queue that nobody empties.
TEST(test_a_seek_that_is_stuck_holds_up_no_close)
{
    struct harness harness;
    int64_t begin_ns;

    record_clip(1, "x264enc ! flvmux", in_directory("short"));
    harness_init(&harness);
    harness.camera.path = in_directory("short");
    harness_start(&harness, ops);
    for (int i = 0; i < 6; i++)
        frame_unref(harness_next(&harness));
    begin_ns = clock_now_ns();
    source_close(harness.source);
    assert_lasted(begin_ns, 0, 500 * NS_PER_MS);
}

TEST(test_a_clip_plays_at_its_own_rate_and_size)
{
    struct harness harness;
    int64_t first_ns = 0, last_ns = 0;

    harness_init(&harness);
    harness.camera.path = (char *)"tests/data/street.mp4";
    harness_start(&harness, ops);
    assert_string_equal(harness.source->mode.description, "clip YU12 768x576@10");
    for (int i = 0; i < 6; i++) {
        struct frame *frame = harness_next(&harness);

        first_ns = i == 0 ? frame->pts_ns : first_ns;
        last_ns = frame->pts_ns;
        assert_in_range(labs(frame->grabbed_ns - frame->pts_ns), 0, at_most_ns(80 * NS_PER_MS));
        frame_unref(frame);
    }
    int64_t periods = 5 + (int64_t)harness.source->counters.dropped;
    assert_in_range(last_ns - first_ns, periods * 100 * NS_PER_MS - NS_PER_MS,
                    at_most_ns(periods * 100 * NS_PER_MS + NS_PER_MS));
    source_close(harness.source);
}

// JPEGs one behind the other, at the rate of the configuration.
TEST(test_pictures_without_times_follow_each_other_by_a_period)
{
    struct harness harness;
    int64_t first_ns, span_ns;

    record_clip(30, "jpegenc", in_directory("short"));
    harness_init(&harness);
    harness.camera.path = in_directory("short");
    harness_start(&harness, ops);
    struct frame *frame = harness_next(&harness);
    first_ns = frame->pts_ns;
    frame_unref(frame);
    for (int i = 0; i < 8; i++) {
        frame = harness_next(&harness);
        span_ns = frame->pts_ns - first_ns;
        frame_unref(frame);
    }
    int64_t periods = 8 + (int64_t)harness.source->counters.dropped;
    assert_in_range(span_ns, periods * NS_PER_S / 30 - NS_PER_MS,
                    at_most_ns(periods * NS_PER_S / 30 + NS_PER_MS));
    source_close(harness.source);
}

TEST(test_a_picture_is_a_clip_of_one_frame)
{
    record_clip(10, "identity eos-after=2 ! jpegenc", in_directory("one.jpg"));
    assert_loops(in_directory("one.jpg"), 6, 500 * NS_PER_MS);
}

// A second of pictures, the first one 3 s after the first sound.
static void record_late_pictures(const char *path)
{
    record("audiotestsrc num-buffers=100 ! audioconvert ! avenc_aac ! muxer. "
           "videotestsrc num-buffers=50 timestamp-offset=3000000000" PICTURES "x264enc ! muxer. "
           "qtmux name=muxer",
           path);
}

TEST(test_a_clip_whose_pictures_begin_after_its_sound_opens)
{
    struct harness harness;

    record_late_pictures(in_directory("short"));
    harness_init(&harness);
    harness.camera.path = in_directory("short");
    harness_start(&harness, ops);
    for (int i = 0; i < 15; i++)
        frame_unref(harness_next(&harness));
    source_close(harness.source);
}

TEST(test_a_clip_shows_its_first_picture_at_once)
{
    struct harness harness;
    int64_t begin_ns;

    record_late_pictures(in_directory("short"));
    harness_init(&harness);
    harness.camera.path = in_directory("short");
    harness_start(&harness, ops);
    begin_ns = clock_now_ns();
    frame_unref(harness_next(&harness));
    assert_lasted(begin_ns, 0, 500 * NS_PER_MS);
    source_close(harness.source);
    assert_loops(in_directory("short"), 110, 25 * NS_PER_MS);
}

// Ten pictures, a pause of nearly 3 s, and ten others, which are white.
static void record_pause(const char *path)
{
    record("videotestsrc num-buffers=10 pattern=black" PICTURES "joint. "
           "videotestsrc num-buffers=10 pattern=white timestamp-offset=3000000000" PICTURES
           "joint. concat name=joint adjust-base=false ! jpegenc ! matroskamux",
           path);
}

static bool is_white(const struct frame *frame)
{
    return frame_plane(frame, 0)[0] > 128;
}

TEST(test_a_pause_shows_the_last_picture_until_the_next_is_due)
{
    struct harness harness;
    int64_t begin_ns = 0, last_ns = 0, white_ns = 0;
    unsigned other = 0;
    bool was_white = false;

    record_pause(in_directory("short"));
    harness_init(&harness);
    harness.camera.path = in_directory("short");
    harness_start(&harness, ops);
    // Of one round of the clip, unless this program was kept waiting for the whole pause.
    while (white_ns == 0 || other <= 10) {
        struct frame *frame = harness_next(&harness);

        begin_ns = begin_ns ? begin_ns : frame->pts_ns;
        if (last_ns > 0)
            assert_in_range(frame->pts_ns - last_ns, 1, at_most_ns(450 * NS_PER_MS));
        last_ns = frame->pts_ns;
        assert_true(last_ns - begin_ns < PATIENCE_NS);
        if (is_white(frame) && !white_ns)
            white_ns = frame->pts_ns;
        other = is_white(frame) ? other : was_white ? 1 : other + 1;
        was_white = is_white(frame);
        frame_unref(frame);
    }
    if (by_the_clock()) {
        assert_in_range(white_ns - begin_ns, 2990 * NS_PER_MS, 3010 * NS_PER_MS);
        assert_in_range(other, 15, 20);
    }
    source_close(harness.source);
}

// Cut in the middle, it plays what is there; cut before the first picture or the index, it fails.
TEST(test_truncated_clips_play_what_they_have_or_say_why_not)
{
    static const size_t useless[] = {1, 100, 3000, 20000};
    struct harness harness;

    for (size_t i = 0; i < ARRAY_LENGTH(useless); i++) {
        truncate_copy("tests/data/street.mp4", useless[i], in_directory("cut.mp4"));
        harness_init(&harness);
        harness.camera.path = in_directory("cut.mp4");
        assert_int_equal(harness_open(&harness, ops), -ENODATA);
        assert_contains(harness.error.text, in_directory("cut.mp4"));
    }
    truncate_copy("tests/data/street.mp4", 200000, in_directory("cut.mp4"));
    assert_loops(in_directory("cut.mp4"), 40, 500 * NS_PER_MS);
}

TEST(test_what_is_no_clip_is_refused_with_its_path_and_cause)
{
    static const char garbage[] = "This is not a clip. It only says so, again and again and again.";
    struct harness harness;
    const struct {
        const char *path;
        int error;
        const char *says;
    } cases[] = {
        {"tests/data/missing.mp4", -ENOENT, "No such file"},
        {"tests/data", -ENODATA, "is not a file"},
        {"/dev/null", -ENODATA, "is not a file"},
        {g_strdup(in_directory("empty.mp4")), -ENODATA, "is empty"},
        {g_strdup(in_directory("garbage.mp4")), -ENODATA, "clip"},
    };

    assert_true(g_file_set_contents(cases[3].path, "", 0, NULL));
    assert_true(g_file_set_contents(cases[4].path, garbage, sizeof garbage - 1, NULL));
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        harness_init(&harness);
        harness.camera.path = (char *)cases[i].path;
        assert_int_equal(harness_open(&harness, ops), cases[i].error);
        assert_contains(harness.error.text, cases[i].path);
        assert_contains(harness.error.text, cases[i].says);
    }
    g_free((char *)cases[3].path);
    g_free((char *)cases[4].path);
}

static int make_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
    static const char *const names[] = {"short", "one.jpg", "cut.mp4", "empty.mp4", "garbage.mp4"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        remove(in_directory(names[i]));
    return remove(directory);
}

int main(int argc, char **argv)
{
    gst_init(&argc, &argv);
    late_pipeline_install();
    return run_unit_tests(make_directory, remove_directory);
}
