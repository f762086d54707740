// Streams and outlets, with an appsink in place of the payloader.
#include "tests/unit/stopwatch.h"
#include "tests/unit/unit.h"

#include "config/base.h"
#include "daemon/front/stream.h"

#include <errno.h>
#include <gst/app/gstappsink.h>
#include <gst/gst.h>
#include <string.h>

#define WAIT_NS PATIENCE_NS
#define NOTHING_NS (50 * GST_MSECOND)

struct fixture {
    GstElement *pipeline;
    GstAppSrc *source;
    GstAppSink *sink;
    struct stream *stream;
    unsigned demands, key_frame_demands;
};

static void on_demand(void *context, struct stream *stream, bool key_frame)
{
    struct fixture *fixture = context;

    assert_ptr_equal(stream, fixture->stream);
    fixture->demands++;
    fixture->key_frame_demands += key_frame;
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);

    fixture->pipeline = gst_parse_launch("appsrc name=source is-live=true format=time max-bytes=0 "
                                         "! appsink name=sink sync=false max-buffers=1",
                                         NULL);
    fixture->source = GST_APP_SRC(gst_bin_get_by_name(GST_BIN(fixture->pipeline), "source"));
    fixture->sink = GST_APP_SINK(gst_bin_get_by_name(GST_BIN(fixture->pipeline), "sink"));
    gst_element_set_state(fixture->pipeline, GST_STATE_PLAYING);
    assert_int_equal(stream_new("/front/edges", 8, &fixture->stream), 0); // 4 kB may wait
    stream_set_demand(fixture->stream, on_demand, fixture);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    gst_element_set_state(fixture->pipeline, GST_STATE_NULL);
    stream_set_demand(fixture->stream, NULL, NULL);
    stream_detach(fixture->stream, fixture->source);
    while (g_main_context_iteration(NULL, FALSE)) {
    }
    stream_unref(fixture->stream);
    gst_object_unref(fixture->source);
    gst_object_unref(fixture->sink);
    gst_object_unref(fixture->pipeline);
    free(fixture);
    return 0;
}

// An access unit whose last byte is `mark`, `size` bytes of Annex B.
static uint8_t *make_unit(const struct link_access_unit *unit, size_t size, uint8_t mark)
{
    static const uint8_t start[] = {0, 0, 0, 1, 0x65};
    uint8_t *payload = calloc(1, sizeof *unit + size);

    memcpy(payload, unit, sizeof *unit);
    memcpy(payload + sizeof *unit, start, sizeof start);
    payload[sizeof *unit + size - 1] = mark;
    return payload;
}

static void send_frame(struct fixture *fixture, bool key_frame, int64_t captured_ns, uint8_t mark)
{
    struct link_access_unit unit = {.captured_ns = captured_ns,
                                    .grabbed_ns = captured_ns + 1 * NS_PER_MS,
                                    .computed_ns = captured_ns + 3 * NS_PER_MS,
                                    .encoded_ns = captured_ns + 6 * NS_PER_MS,
                                    .key_frame = key_frame};

    assert_int_equal(
        stream_take_access_unit(fixture->stream, make_unit(&unit, 1000, mark), sizeof unit + 1000),
        0);
}

static void send_slate(struct fixture *fixture, uint8_t mark)
{
    uint8_t bytes[] = {0, 0, 1, 0x65, mark};
    uint8_t *payload = malloc(sizeof bytes);

    memcpy(payload, bytes, sizeof bytes);
    assert_int_equal(stream_take_slate(fixture->stream, payload, sizeof bytes), 0);
}

struct seen {
    int mark; // -1: nothing came
    int64_t pts_ns;
    bool delta;
};

static struct seen next_frame(struct fixture *fixture, GstClockTime timeout_ns)
{
    GstSample *sample = gst_app_sink_try_pull_sample(fixture->sink, timeout_ns);
    struct seen seen = {.mark = -1};
    GstMapInfo map;

    if (!sample) {
        return seen;
    }
    GstBuffer *buffer = gst_sample_get_buffer(sample);
    assert_true(gst_buffer_map(buffer, &map, GST_MAP_READ));
    seen = (struct seen){.mark = map.data[map.size - 1],
                         .pts_ns = (int64_t)GST_BUFFER_PTS(buffer),
                         .delta = GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT)};
    gst_buffer_unmap(buffer, &map);
    gst_sample_unref(sample);
    return seen;
}

static gboolean on_tick(gpointer data)
{
    (void)data; // only so that an iteration of the main context ends
    return G_SOURCE_CONTINUE;
}

// Runs the main loop until a frame comes out.
static struct seen wait_frame(struct fixture *fixture)
{
    int64_t begin_ns = clock_now_ns();
    guint ticks = g_timeout_add(20, on_tick, NULL);
    struct seen seen;

    do {
        assert_true(clock_now_ns() - begin_ns < PATIENCE_NS);
        g_main_context_iteration(NULL, TRUE);
        seen = next_frame(fixture, 0);
    } while (seen.mark < 0);
    g_source_remove(ticks);
    return seen;
}

static void iterate_until(struct fixture *fixture, unsigned demands)
{
    while (fixture->demands < demands) {
        g_main_context_iteration(NULL, TRUE);
    }
}

TEST(test_a_viewer_begins_with_a_key_frame, set_up, tear_down)
{
    struct fixture *fixture = *state;

    assert_int_equal(stream_attach(fixture->stream, fixture->source, 0), 0);
    send_frame(fixture, false, 1 * NS_PER_S, 1);
    send_frame(fixture, true, 2 * NS_PER_S, 2);
    send_frame(fixture, false, 3 * NS_PER_S, 3);

    struct seen first = next_frame(fixture, WAIT_NS), second = next_frame(fixture, WAIT_NS);
    assert_int_equal(first.mark, 2);
    assert_false(first.delta);
    assert_int_equal(second.mark, 3);
    assert_true(second.delta);
}

TEST(test_attaching_and_detaching_is_reported_as_demand, set_up, tear_down)
{
    struct fixture *fixture = *state;

    assert_false(stream_is_watched(fixture->stream));
    stream_attach(fixture->stream, fixture->source, 0);
    iterate_until(fixture, 1);
    assert_true(stream_is_watched(fixture->stream));
    stream_want_key_frame(fixture->stream);
    iterate_until(fixture, 2);
    assert_int_equal(fixture->key_frame_demands, 2);
    stream_detach(fixture->stream, fixture->source);
    iterate_until(fixture, 3);
    assert_false(stream_is_watched(fixture->stream));
    assert_int_equal(fixture->key_frame_demands, 2);
}

TEST(test_time_stamps_are_relative_to_the_pipeline_and_only_grow, set_up, tear_down)
{
    struct fixture *fixture = *state;
    int64_t base_ns = clock_now_ns() - 4 * NS_PER_S;

    stream_attach(fixture->stream, fixture->source, base_ns);
    send_frame(fixture, true, base_ns - NS_PER_S, 1); // before the pipeline began
    send_frame(fixture, false, base_ns + 2 * NS_PER_S, 2);
    send_frame(fixture, false, base_ns + 1 * NS_PER_S, 3); // back in time
    send_frame(fixture, false, base_ns + 3 * NS_PER_S, 4);

    assert_int_equal(next_frame(fixture, WAIT_NS).pts_ns, 0);
    assert_int_equal(next_frame(fixture, WAIT_NS).pts_ns, 2 * NS_PER_S);
    assert_int_equal(next_frame(fixture, WAIT_NS).pts_ns, 2 * NS_PER_S + NS_PER_MS);
    assert_int_equal(next_frame(fixture, WAIT_NS).pts_ns, 3 * NS_PER_S);
}

// A viewer would wait an hour for what follows a frame that is an hour ahead.
TEST(test_times_that_cannot_be_true_are_mended_and_counted, set_up, tear_down)
{
    static const int64_t lies_ns[] = {INT64_MAX - NS_PER_S, INT64_MIN, -1};
    struct fixture *fixture = *state;
    struct snapshot_mount mount = {0};
    int64_t base_ns = clock_now_ns();

    stream_attach(fixture->stream, fixture->source, base_ns);
    for (size_t i = 0; i < ARRAY_LENGTH(lies_ns); i++) {
        send_frame(fixture, i == 0, lies_ns[i], 1);
    }
    send_frame(fixture, false, clock_now_ns(), 2);
    for (size_t i = 0; i <= ARRAY_LENGTH(lies_ns); i++) {
        int64_t pts_ns = next_frame(fixture, WAIT_NS).pts_ns;

        assert_in_range(pts_ns, 0, clock_now_ns() - base_ns + 5 * NS_PER_MS);
    }
    stream_describe(fixture->stream, &mount);
    assert_int_equal(mount.bad_timestamps, ARRAY_LENGTH(lies_ns));
    assert_float_equal(mount.latency[LATENCY_LINK].sum_s, 20, 1e-6); // of the two in the past
}

TEST(test_the_slates_take_turns_while_the_camera_process_is_gone, set_up, tear_down)
{
    struct fixture *fixture = *state;

    send_slate(fixture, 'a');
    send_slate(fixture, 'b');
    stream_attach(fixture->stream, fixture->source, 0);
    send_frame(fixture, true, clock_now_ns(), 1);
    assert_int_equal(next_frame(fixture, WAIT_NS).mark, 1);

    int64_t begin_ns = clock_now_ns();
    stream_interrupt(fixture->stream);
    assert_int_equal(next_frame(fixture, WAIT_NS).mark, 'a'); // at once
    assert_int_equal(wait_frame(fixture).mark, 'b');
    assert_lasted(begin_ns, 400 * NS_PER_MS, 1500 * NS_PER_MS);

    // A new process is let in with its first key frame, and ends the slate.
    send_frame(fixture, false, clock_now_ns(), 2);
    send_frame(fixture, true, clock_now_ns(), 3);
    assert_int_equal(next_frame(fixture, WAIT_NS).mark, 3);
}

TEST(test_a_silent_camera_leaves_the_slate_to_a_new_viewer, set_up, tear_down)
{
    struct fixture *fixture = *state;
    int64_t begin_ns = clock_now_ns();

    assert_false(stream_wait_servable(fixture->stream, 0));
    send_slate(fixture, 'a');
    assert_true(stream_wait_servable(fixture->stream, 0));
    stream_attach(fixture->stream, fixture->source, begin_ns);
    assert_int_equal(wait_frame(fixture).mark, 'a');
    assert_lasted(begin_ns, 300 * NS_PER_MS, 900 * NS_PER_MS);

    // What follows does not refer to the slate.
    send_frame(fixture, false, clock_now_ns(), 1);
    send_frame(fixture, true, clock_now_ns(), 2);
    assert_int_equal(next_frame(fixture, WAIT_NS).mark, 2);
}

TEST(test_a_viewer_that_stalls_loses_frames_up_to_a_key_frame, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct snapshot_mount mount = {0};
    uint8_t mark = 1;

    stream_attach(fixture->stream, fixture->source, 0);
    stream_set_playing(fixture->stream, fixture->source, true);
    send_frame(fixture, true, 0, mark);
    while (mount.dropped == 0) { // nobody pulls; 4 kB may wait
        mark++;
        assert_in_range(mark, 2, 50);
        send_frame(fixture, false, mark * NS_PER_MS, mark);
        stream_describe(fixture->stream, &mount);
    }
    assert_in_range(mark, 5, 10);
    for (uint8_t expected = 1; expected < mark; expected++) {
        assert_int_equal(next_frame(fixture, WAIT_NS).mark, expected);
    }
    iterate_until(fixture, 1);
    unsigned asked = fixture->key_frame_demands;
    send_frame(fixture, false, NS_PER_S, 100);
    assert_int_equal(next_frame(fixture, NOTHING_NS).mark, -1);
    assert_int_equal(fixture->key_frame_demands, asked + 1);
    send_frame(fixture, true, NS_PER_S, 101);
    assert_int_equal(next_frame(fixture, WAIT_NS).mark, 101);
}

TEST(test_another_bitrate_moves_the_bound_of_viewers_that_are_there, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct snapshot_mount mount = {0};

    stream_attach(fixture->stream, fixture->source, 0);
    stream_set_playing(fixture->stream, fixture->source, true);
    stream_set_bitrate(fixture->stream, 80); // 40 kB may wait
    send_frame(fixture, true, 0, 1);
    for (uint8_t mark = 2; mark <= 30; mark++) {
        send_frame(fixture, false, mark * NS_PER_MS, mark);
    }
    stream_describe(fixture->stream, &mount);
    assert_int_equal(mount.dropped, 0);
    for (uint8_t mark = 31; mark <= 60; mark++) {
        send_frame(fixture, false, mark * NS_PER_MS, mark);
    }
    stream_describe(fixture->stream, &mount);
    assert_in_range(mount.dropped, 10, 25);
}

TEST(test_nothing_piles_up_while_nobody_plays, set_up, tear_down)
{
    struct fixture *fixture = *state;
    int64_t begin_ns = clock_now_ns();

    stream_unref(fixture->stream);
    assert_int_equal(stream_new("/front/edges", 100000, &fixture->stream), 0); // 50 MB may wait
    stream_attach(fixture->stream, fixture->source, begin_ns);
    send_frame(fixture, true, begin_ns, 1);
    guint ticks = g_timeout_add(20, on_tick, NULL);
    while (clock_now_ns() - begin_ns < 700 * NS_PER_MS) {
        g_main_context_iteration(NULL, TRUE);
        send_frame(fixture, false, clock_now_ns(), 2);
    }
    g_source_remove(ticks);
    int64_t last_ns = 0;
    for (struct seen seen; (seen = next_frame(fixture, NOTHING_NS)).mark >= 0;) {
        last_ns = seen.pts_ns;
    }
    // A loop that stands still in the first 200 ms sends nothing then.
    assert_in_range(last_ns, by_the_clock() ? 200 * NS_PER_MS : 0, 400 * NS_PER_MS);
}

TEST(test_what_is_no_video_is_refused, set_up, tear_down)
{
    struct fixture *fixture = *state;
    static const char text[] = "this is no H.264 ...";
    size_t header = sizeof(struct link_access_unit);
    uint8_t *unit = calloc(1, header + sizeof text);

    memcpy(unit + header, text, sizeof text);
    assert_int_equal(stream_take_access_unit(fixture->stream, unit, header + sizeof text),
                     -EBADMSG);
    assert_int_equal(stream_take_access_unit(fixture->stream, calloc(1, 10), 10), -EBADMSG);
    assert_int_equal(stream_take_access_unit(fixture->stream, calloc(1, header), header), -EBADMSG);
    assert_int_equal(stream_take_slate(fixture->stream, calloc(1, 3), 3), -EBADMSG);
    assert_false(stream_wait_servable(fixture->stream, 0));
}

TEST(test_what_was_sent_is_counted, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct snapshot_mount mount = {0};

    for (uint8_t i = 0; i < 10; i++) {
        send_frame(fixture, i % 5 == 0, clock_now_ns() - 20 * NS_PER_MS, i);
    }
    stream_set_view_counters(fixture->stream, 12, 2, "x264enc");
    stream_describe(fixture->stream, &mount);
    assert_string_equal(mount.path, "/front/edges");
    assert_string_equal(mount.encoder, "x264enc");
    assert_int_equal(mount.access_units, 10);
    assert_int_equal(mount.key_frames, 2);
    assert_int_equal(mount.bytes, 10000);
    assert_int_equal(mount.encoded, 12);
    assert_int_equal(mount.dropped, 2);
    // 1 ms, 2 ms, 3 ms, and the 14 ms that are left of 20.
    assert_int_equal(mount.latency[LATENCY_CAPTURE].count, 10);
    assert_float_equal(mount.latency[LATENCY_CAPTURE].sum_s, 0.010, 1e-9);
    assert_float_equal(mount.latency[LATENCY_COMPUTE].sum_s, 0.020, 1e-9);
    assert_float_equal(mount.latency[LATENCY_ENCODE].sum_s, 0.030, 1e-9);
    assert_float_equal(mount.latency[LATENCY_LINK].sum_s, 0.140, 0.05);
}

int main(int argc, char **argv)
{
    gst_init(&argc, &argv);
    return run_unit_tests(NULL, NULL);
}
