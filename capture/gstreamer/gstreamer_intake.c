// First the side that GStreamer's streaming threads call, then the lane's: opening, playing, and
// frames made of samples.
#include "capture/gstreamer/gstreamer_intake.h"

#include "capture/gstreamer/gstreamer_caps.h"
#include "capture/gstreamer/gstreamer_decoders.h"
#include "capture/gstreamer/gstreamer_frame.h"
#include "capture/gstreamer/gstreamer_names.h"
#include "capture/gstreamer/gstreamer_pool.h"
#include "capture/gstreamer/gstreamer_surfaces.h"

#include <errno.h>
#include <gst/app/gstappsink.h>
#include <pthread.h>
#include <string.h>

#define REPLAY_TIMEOUT_NS NS_PER_S
#define SINK "edged_sink"
// Between two pictures that come in order.
#define STEP_LEAST_NS (100 * NS_PER_US)
#define QUEUE_BYTES (64u << 20)
// Of a pool, for upstream to write into, and for the lane.
#define FRAMES_TO_SPARE (GSTREAMER_POOL_FRAMES / 2)

struct intake {
    const struct source_environment *environment; // not owned
    GstElement *pipeline;                         // owned
    GstElement *sink;                             // owned reference
    GstCaps *caps;                  // owned reference; those of the last sample taken, lane only
    struct frame_pool *copy_frames; // owned reference; made for the first copy, lane only
    struct gstreamer_surfaces *surfaces; // owned; NULL: samples lie in plain memory
    bool surface_failed;                 // one could not be adopted; lane only
    int64_t pts_ns;                      // of the last frame; lane only
    bool live;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    // From here on guarded by `lock`.
    struct frame_pool *frames; // owned reference; what upstream writes into
    GstCaps *preroll_caps;     // owned reference
    struct sample_queue queue;
    bool segment_done, eos, failed, failed_to_negotiate, unauthorized, no_way_to_log_in;
    bool stopping;      // no sample waits any more
    unsigned replaying; // threads that ask for the segment to be played again
    struct error failure;
};

static GstFlowReturn on_preroll(GstAppSink *sink, gpointer data)
{
    struct intake *intake = data;
    GstSample *sample = gst_app_sink_try_pull_preroll(sink, 0);

    if (sample) {
        pthread_mutex_lock(&intake->lock);
        gst_caps_replace(&intake->preroll_caps, gst_sample_get_caps(sample));
        pthread_cond_broadcast(&intake->changed);
        pthread_mutex_unlock(&intake->lock);
        gst_sample_unref(sample);
    }
    return GST_FLOW_OK;
}

static bool wait_changed(struct intake *intake, int64_t deadline_ns)
{
    struct timespec until = {deadline_ns / NS_PER_S, deadline_ns % NS_PER_S};

    return pthread_cond_timedwait(&intake->changed, &intake->lock, &until) == 0;
}

static void add_sample(struct intake *intake, GstSample *sample)
{
    struct sample_queue *queue = &intake->queue;
    GstSample *gone[SAMPLE_QUEUE_MAX];
    unsigned gone_count;

    pthread_mutex_lock(&intake->lock);
    while (sample_queue_is_closed(queue) && !intake->stopping)
        wait_changed(intake, sample_queue_in_order_until_ns(queue));
    gone_count = sample_queue_add(queue, sample, gone);
    pthread_cond_broadcast(&intake->changed);
    pthread_mutex_unlock(&intake->lock);
    for (unsigned i = 0; i < gone_count; i++)
        gst_sample_unref(gone[i]);
}

static GstFlowReturn on_sample(GstAppSink *sink, gpointer data)
{
    GstSample *sample = gst_app_sink_try_pull_sample(sink, 0);

    if (sample)
        add_sample(data, sample);
    return GST_FLOW_OK;
}

// The sink hears of the end in PAUSED, too, where the bus does not.
static void on_eos(GstAppSink *sink, gpointer data)
{
    struct intake *intake = data;

    (void)sink;
    pthread_mutex_lock(&intake->lock);
    intake->eos = true;
    pthread_cond_broadcast(&intake->changed);
    pthread_mutex_unlock(&intake->lock);
}

// Keeps the first error: the ones after it are its consequences. Details begin with a line about
// GStreamer's own code, which is left out.
//
// That rtspsrc knows no way to log in is no failure yet: its next error has the camera's answer,
// which before GStreamer 1.22 may also be that there is no such stream.
static void note_failure(struct intake *intake, GstMessage *message)
{
    GError *cause = NULL;
    gchar *debug = NULL, *details;
    bool unauthorized, no_way_to_log_in;

    gst_message_parse_error(message, &cause, &debug);
    details = debug ? strchr(debug, '\n') : NULL;
    if (details)
        g_strdelimit(++details, "\n", ' ');
    unauthorized = g_error_matches(cause, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_AUTHORIZED);
    no_way_to_log_in = details && strstr(details, "No supported authentication protocol");
    if (!intake->failed && !(intake->no_way_to_log_in && unauthorized)) {
        intake->failed_to_negotiate =
            debug && (strstr(debug, "not-negotiated") || strstr(debug, "not-linked"));
        intake->unauthorized = unauthorized;
        error_set(&intake->failure, -EPIPE, "%s: %s%s%s%s", GST_MESSAGE_SRC_NAME(message),
                  cause->message, details ? " (" : "", details ? details : "", details ? ")" : "");
        gstreamer_names_settle(intake->failure.text);
    }
    intake->no_way_to_log_in = no_way_to_log_in;
    intake->failed |= !no_way_to_log_in;
    g_error_free(cause);
    g_free(debug);
}

static GstBusSyncReply on_message(GstBus *bus, GstMessage *message, gpointer data)
{
    struct intake *intake = data;

    (void)bus;
    pthread_mutex_lock(&intake->lock);
    intake->segment_done |= GST_MESSAGE_TYPE(message) == GST_MESSAGE_SEGMENT_DONE;
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR)
        note_failure(intake, message);
    pthread_cond_broadcast(&intake->changed);
    pthread_mutex_unlock(&intake->lock);
    gst_message_unref(message);
    return GST_BUS_DROP;
}

// The bytes of frames that may wait.
static size_t queue_bytes(const struct intake *intake)
{
    return intake->queue.order == INTAKE_QUEUED ? QUEUE_BYTES : 0;
}

static GstPadProbeReturn on_query(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);
    struct intake *intake = data;
    bool answered;

    (void)pad;
    if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION || intake->surfaces ||
        !intake->environment->allocator) {
        return GST_PAD_PROBE_OK;
    }
    pthread_mutex_lock(&intake->lock);
    answered = gstreamer_pool_offer(query, intake->environment->allocator, queue_bytes(intake),
                                    &intake->frames);
    pthread_mutex_unlock(&intake->lock);
    return answered ? GST_PAD_PROBE_HANDLED : GST_PAD_PROBE_OK;
}

// Lets samples, news and queries of the parsed pipeline arrive at `intake`, on CLOCK_MONOTONIC.
static void connect_pipeline(struct intake *intake)
{
    GstAppSinkCallbacks callbacks = {
        .eos = on_eos, .new_preroll = on_preroll, .new_sample = on_sample};
    GstPad *pad = gst_element_get_static_pad(intake->sink, "sink");
    GstBus *bus = gst_element_get_bus(intake->pipeline);
    GstClock *clock = gst_system_clock_obtain(); // CLOCK_MONOTONIC

    gst_app_sink_set_callbacks(GST_APP_SINK(intake->sink), &callbacks, intake, NULL);
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, on_query, intake, NULL);
    gst_bus_set_sync_handler(bus, on_message, intake, NULL);
    gst_pipeline_use_clock(GST_PIPELINE(intake->pipeline), clock);
    gst_object_unref(clock);
    gst_object_unref(bus);
    gst_object_unref(pad);
}

static int parse(struct intake *intake, const char *fragment, const GstCaps *caps,
                 struct error *error)
{
    g_autofree gchar *caps_text = gst_caps_to_string(caps);
    g_autofree gchar *text =
        g_strdup_printf("%s ! appsink name=" SINK " enable-last-sample=false max-buffers=1 "
                        "drop=%s sync=%s caps=\"%s\"",
                        fragment, intake->queue.order == INTAKE_EVERY ? "false" : "true",
                        intake->queue.order == INTAKE_EVERY ? "false" : "true", caps_text);
    g_autoptr(GError) problem = NULL;

    intake->pipeline = gst_parse_launch_full(text, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &problem);
    if (!intake->pipeline) {
        gstreamer_names_settle(problem->message);
        return error_set(error, -EINVAL, "%s", problem->message);
    }
    gst_object_ref_sink(intake->pipeline);
    if (GST_IS_PIPELINE(intake->pipeline))
        intake->sink = gst_bin_get_by_name(GST_BIN(intake->pipeline), SINK);
    return intake->sink ? 0 : error_set(error, -EINVAL, "it has no open end to take frames from");
}

int intake_new(const char *fragment, const GstCaps *caps, enum intake_order order,
               const struct source_environment *environment, struct error *error,
               struct intake **ret_intake)
{
    _cleanup_(cleanup_intake) struct intake *intake = calloc(1, sizeof *intake);
    int r;

    if (!intake)
        return error_set(error, -ENOMEM, "out of memory");
    intake->environment = environment;
    intake->queue.order = order;
    intake->queue.room = 1;
    pthread_mutex_init(&intake->lock, NULL);
    condition_init(&intake->changed);
    r = parse(intake, fragment, caps, error);
    if (r < 0)
        return r;
    gstreamer_decoders_be_exact(GST_BIN(intake->pipeline));
    connect_pipeline(intake);
    *ret_intake = TAKE(intake);
    return 0;
}

static void wait_until_replayed(struct intake *intake, int64_t deadline_ns)
{
    pthread_mutex_lock(&intake->lock);
    while (intake->replaying > 0 && wait_changed(intake, deadline_ns)) {
    }
    pthread_mutex_unlock(&intake->lock);
}

static void flush_pad(const GValue *pad, gpointer data)
{
    (void)data;
    gst_pad_send_event(g_value_get_object(pad), gst_event_new_flush_start());
}

static void flush_queue(const GValue *item, gpointer data)
{
    GstElement *element = g_value_get_object(item);
    GstElementFactory *factory = gst_element_get_factory(element);

    (void)data;
    if (factory && g_str_equal(GST_OBJECT_NAME(factory), "multiqueue")) {
        GstIterator *pads = gst_element_iterate_sink_pads(element);

        gst_iterator_foreach(pads, flush_pad, NULL);
        gst_iterator_free(pads);
    }
}

// The queues behind the demuxers of `pipeline`, a bin, take no more until the pipeline has been
// stopped: a thread that waits for room in one goes on. Some demuxers fill them with what nobody
// takes.
static void flush_queues(GstElement *pipeline)
{
    GstIterator *elements = gst_bin_iterate_recurse(GST_BIN(pipeline));

    gst_iterator_foreach(elements, flush_queue, NULL);
    gst_iterator_free(elements);
}

// Brings the pipeline to `state`, in which nothing runs. A seek that came after that would start
// the demuxer's thread again, which nobody ends any more: so a seek under way comes first. It has
// room, as no sample waits any more; where it is stuck all the same, the state frees it.
static void stop(struct intake *intake, GstState state)
{
    pthread_mutex_lock(&intake->lock);
    intake->stopping = true;
    pthread_cond_broadcast(&intake->changed);
    pthread_mutex_unlock(&intake->lock);
    if (intake->pipeline && intake->queue.order == INTAKE_EVERY)
        flush_queues(intake->pipeline);
    wait_until_replayed(intake, clock_now_ns() + REPLAY_TIMEOUT_NS);
    if (intake->pipeline)
        gst_element_set_state(intake->pipeline, state);
    wait_until_replayed(intake, INT64_MAX);
}

void intake_free(struct intake *intake)
{
    if (!intake)
        return;
    gstreamer_surfaces_end(intake->surfaces);
    stop(intake, GST_STATE_NULL);
    if (intake->sink) {
        // It has kept the last sample, and a thread of GStreamer's may hold the pipeline yet.
        gst_bin_remove(GST_BIN(intake->pipeline), intake->sink);
    }
    sample_queue_clear(&intake->queue);
    gst_caps_replace(&intake->preroll_caps, NULL);
    gst_caps_replace(&intake->caps, NULL);
    gst_clear_object(&intake->sink);
    gst_clear_object(&intake->pipeline);
    frame_pool_unref(intake->copy_frames);
    frame_pool_unref(intake->frames);
    pthread_cond_destroy(&intake->changed);
    pthread_mutex_destroy(&intake->lock);
    free(intake);
}

GstElement *intake_pipeline(struct intake *intake)
{
    return intake->pipeline;
}

static enum intake_event take_event(struct intake *intake)
{
    if (intake->segment_done) {
        intake->segment_done = false;
        return INTAKE_SEGMENT_DONE;
    }
    if (intake->queue.count > 0)
        return INTAKE_SAMPLE;
    if (intake->failed)
        return INTAKE_FAILED;
    return intake->eos ? INTAKE_EOS : INTAKE_TIMEOUT;
}

enum intake_event intake_wait(struct intake *intake, int64_t deadline_ns)
{
    enum intake_event event;

    pthread_mutex_lock(&intake->lock);
    if (intake->queue.count == 0)
        intake->queue.drained_ns = clock_now_ns();
    do {
        event = take_event(intake);
    } while (event == INTAKE_TIMEOUT && wait_changed(intake, deadline_ns));
    pthread_mutex_unlock(&intake->lock);
    return event;
}

int64_t intake_in_order_until_ns(struct intake *intake)
{
    int64_t until_ns;

    pthread_mutex_lock(&intake->lock);
    until_ns = sample_queue_in_order_until_ns(&intake->queue);
    pthread_mutex_unlock(&intake->lock);
    return until_ns;
}

int intake_failure(struct intake *intake, struct error *error)
{
    int r;

    pthread_mutex_lock(&intake->lock);
    if (intake->failed_to_negotiate) {
        r = error_set(error, -EINVAL, "no video comes out in a format edged knows: %s",
                      intake->failure.text);
    } else {
        r = error_set(error, intake->unauthorized ? -EACCES : -EPIPE, "%s", intake->failure.text);
    }
    pthread_mutex_unlock(&intake->lock);
    return r;
}

// Waits until the first picture tells the format. The caps are a new reference.
static int wait_for_caps(struct intake *intake, struct error *error, GstCaps **ret_caps)
{
    int64_t deadline_ns = clock_now_ns() + INTAKE_OPEN_TIMEOUT_NS;
    bool failed, eos;

    pthread_mutex_lock(&intake->lock);
    while (!intake->preroll_caps && !intake->failed && !intake->eos &&
           wait_changed(intake, deadline_ns)) {
    }
    failed = intake->failed;
    eos = intake->eos;
    *ret_caps = intake->preroll_caps ? gst_caps_ref(intake->preroll_caps) : NULL;
    pthread_mutex_unlock(&intake->lock);
    if (*ret_caps)
        return 0;
    if (failed)
        return intake_failure(intake, error);
    return eos ? error_set(error, -ENODATA, "it ended before the first picture")
               : error_set(error, -ETIMEDOUT, "it delivered nothing within %d s",
                           (int)(INTAKE_OPEN_TIMEOUT_NS / NS_PER_S));
}

static void make_queue(struct intake *intake, size_t frame_bytes)
{
    pthread_mutex_lock(&intake->lock);
    intake->queue.room = gstreamer_pool_count(frame_bytes, queue_bytes(intake)) - FRAMES_TO_SPARE;
    pthread_mutex_unlock(&intake->lock);
}

int intake_open(struct intake *intake, struct source_mode *mode, struct error *error)
{
    g_autoptr(GstCaps) caps = NULL;
    int r;

    switch (gst_element_set_state(intake->pipeline, GST_STATE_PAUSED)) {
    case GST_STATE_CHANGE_NO_PREROLL:
        // Live: the newest picture at once rather than after the pipeline's latency.
        intake->live = true;
        g_object_set(intake->sink, "sync", FALSE, NULL);
        gst_element_set_state(intake->pipeline, GST_STATE_PLAYING);
        break;
    default:
        break; // a failure is on the bus
    }
    r = wait_for_caps(intake, error, &caps);
    if (r < 0)
        return r;
    if (gstreamer_caps_read(caps, mode) < 0)
        return error_set(error, -EINVAL, "no video comes out in a format edged knows");
    gst_caps_replace(&intake->caps, caps);
    if (intake->queue.order == INTAKE_QUEUED)
        make_queue(intake, mode->layout.size);
    return 0;
}

bool intake_has_square_pixels(const struct intake *intake)
{
    GstVideoInfo info;

    return !gst_video_info_from_caps(&info, intake->caps) || info.par_n == info.par_d;
}

void intake_play(struct intake *intake)
{
    pthread_mutex_lock(&intake->lock);
    if (intake->queue.order != INTAKE_HELD)
        sample_queue_clear(&intake->queue);
    intake->queue.replaced = 0;
    intake->queue.drained_ns = clock_now_ns();
    pthread_cond_broadcast(&intake->changed);
    pthread_mutex_unlock(&intake->lock);
    if (!intake->live)
        gst_element_set_state(intake->pipeline, GST_STATE_PLAYING);
}

void intake_stop(struct intake *intake)
{
    stop(intake, GST_STATE_READY);
    pthread_mutex_lock(&intake->lock);
    intake->segment_done = intake->eos = intake->failed = intake->failed_to_negotiate =
        intake->stopping = false;
    pthread_mutex_unlock(&intake->lock);
}

// gst_element_seek() would hold the pipeline's state lock meanwhile, which the pipeline needs to
// begin to play; and when a short clip has been read before that, and its pictures fill the queue,
// the demuxer takes a seek only once the pipeline plays.
static bool seek_segment(GstElement *sink, GstSeekFlags flags)
{
    g_autoptr(GstPad) pad = gst_element_get_static_pad(sink, "sink");

    return gst_pad_push_event(pad, gst_event_new_seek(1.0, GST_FORMAT_TIME,
                                                      flags | GST_SEEK_FLAG_SEGMENT,
                                                      GST_SEEK_TYPE_SET, 0, GST_SEEK_TYPE_NONE, 0));
}

bool intake_begin_segment(struct intake *intake)
{
    return seek_segment(intake->sink, GST_SEEK_FLAG_FLUSH);
}

static void end_repeat(struct intake *intake, bool repeats)
{
    pthread_mutex_lock(&intake->lock);
    intake->replaying--;
    intake->eos |= !repeats;
    pthread_cond_broadcast(&intake->changed);
    pthread_mutex_unlock(&intake->lock);
}

static void *repeat_segment(void *data)
{
    struct intake *intake = data;

    seek_segment(intake->sink, GST_SEEK_FLAG_NONE);
    end_repeat(intake, true);
    return NULL;
}

void intake_repeat_segment(struct intake *intake)
{
    GThread *thread;

    pthread_mutex_lock(&intake->lock);
    intake->replaying++;
    pthread_mutex_unlock(&intake->lock);
    thread = g_thread_try_new("repeat", repeat_segment, intake, NULL);
    if (thread)
        g_thread_unref(thread);
    else
        end_repeat(intake, false);
}

int intake_expect_surfaces(struct intake *intake, struct error *error)
{
    intake->surfaces = gstreamer_surfaces_new(intake->environment->surfaces);
    return intake->surfaces ? 0 : error_set(error, -ENOMEM, "out of memory");
}

// The newest sample, which stays to be taken. NULL: none came.
static GstSample *wait_for_sample(struct intake *intake)
{
    GstSample *sample = NULL;

    if (intake_wait(intake, clock_now_ns() + INTAKE_OPEN_TIMEOUT_NS) == INTAKE_SAMPLE) {
        pthread_mutex_lock(&intake->lock);
        sample = intake->queue.count > 0 ? gst_sample_ref(intake->queue.arrivals[0].sample) : NULL;
        pthread_mutex_unlock(&intake->lock);
    }
    return sample;
}

int intake_measure_surface(struct intake *intake, struct source_mode *mode, struct error *error)
{
    g_autoptr(GstSample) sample = wait_for_sample(intake);
    struct frame *frame;
    int r;

    if (!sample) {
        return error_set(error, -ETIMEDOUT, "it delivered nothing within %d s",
                         (int)(INTAKE_OPEN_TIMEOUT_NS / NS_PER_S));
    }
    r = gstreamer_surfaces_take(intake->surfaces, gst_sample_get_buffer(sample), &mode->layout,
                                error, &frame);
    if (r == 0) {
        mode->layout = frame->layout;
        mode->surfaces = true;
        frame_unref(frame);
    }
    return r;
}

bool intake_surface_failed(const struct intake *intake)
{
    return intake->surface_failed;
}

// Checks that pictures still look as negotiated. A source that was opened before its first picture
// learns from that how they look.
static int check_caps(struct intake *intake, GstCaps *caps, struct source_mode *mode,
                      struct error *error)
{
    bool first = !intake->caps;
    struct source_mode now = {0};

    if (!first &&
        (caps == intake->caps || (intake->surfaces && gst_caps_is_equal(caps, intake->caps)))) {
        return 0;
    }
    bool known = gstreamer_caps_read(caps, &now) == 0;
    if (first && !known)
        return error_set(error, -EPIPE, "no video comes out in a format edged knows");
    if (!first && (intake->surfaces || !known || !frame_layout_equal(&now.layout, &mode->layout))) {
        g_autofree gchar *text = gst_caps_to_string(caps);

        return error_set(error, -EPIPE, "the pictures changed to %s", text);
    }
    if (first)
        mode->layout = now.layout;
    if (first && now.fps_numerator) {
        mode->fps_numerator = now.fps_numerator;
        mode->fps_denominator = now.fps_denominator;
    }
    gst_caps_replace(&intake->caps, caps);
    return 0;
}

// Copies have frames of their own: with a queue upstream, the lent ones may all be waiting there.
static int make_copy_frames(struct intake *intake, const struct frame_layout *layout)
{
    if (intake->copy_frames)
        return 0;
    return frame_pool_new(layout, GSTREAMER_POOL_FRAMES, intake->environment->allocator,
                          &intake->copy_frames) < 0
               ? -ENOMEM
               : 0;
}

static int make_frame(struct intake *intake, GstSample *sample, struct source *source,
                      struct error *error, struct frame **ret_frame)
{
    GstBuffer *buffer = gst_sample_get_buffer(sample);
    struct frame *frame;
    int r = check_caps(intake, gst_sample_get_caps(sample), &source->mode, error);

    if (r < 0)
        return r;
    if (GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_CORRUPTED))
        return -EBADMSG;
    if (intake->surfaces) {
        r = gstreamer_surfaces_take(intake->surfaces, buffer, &source->mode.layout, error,
                                    ret_frame);
        intake->surface_failed = r < 0 && r != -ENOBUFS;
        return r;
    }
    frame = gstreamer_pool_claim(buffer, &source->mode.layout);
    if (frame) {
        *ret_frame = frame;
        return 0;
    }
    r = make_copy_frames(intake, &source->mode.layout);
    return r < 0 ? error_set(error, r, "no frame memory")
                 : gstreamer_frame_copy(sample, intake->copy_frames, intake->environment->copies,
                                        ret_frame);
}

// The fit of a camera's clock to ours may set it back, and rtspsrc in a pipeline dates what comes
// in a burst ahead.
static int64_t capture_time(struct intake *intake, GstSample *sample, int64_t grabbed_ns)
{
    int64_t base_ns = (int64_t)gst_element_get_base_time(intake->pipeline), pts_ns;

    if (intake->queue.order == INTAKE_EVERY)
        return gstreamer_frame_clip_ns(sample);
    pts_ns = gstreamer_frame_pts(sample, base_ns, grabbed_ns);
    if (intake->queue.order != INTAKE_NEWEST)
        pts_ns = MAX(MIN(pts_ns, grabbed_ns), intake->pts_ns + STEP_LEAST_NS);
    intake->pts_ns = pts_ns;
    return pts_ns;
}

static struct arrival take_arrival(struct intake *intake, uint64_t *ret_replaced)
{
    struct arrival arrival;

    pthread_mutex_lock(&intake->lock);
    arrival = sample_queue_take(&intake->queue);
    *ret_replaced = intake->queue.replaced;
    intake->queue.replaced = 0;
    pthread_cond_broadcast(&intake->changed);
    pthread_mutex_unlock(&intake->lock);
    return arrival;
}

int intake_take(struct intake *intake, struct source *source, struct error *error,
                struct frame **ret_frame)
{
    uint64_t replaced;
    const struct arrival arrival = take_arrival(intake, &replaced);
    g_autoptr(GstSample) sample = arrival.sample;
    struct frame *frame;
    int r = make_frame(intake, sample, source, error, &frame);

    source->counters.dropped += replaced + (r == -ENOBUFS);
    source->counters.corrupted += r == -EBADMSG;
    if (r == -ENOBUFS || r == -EBADMSG)
        return -EAGAIN;
    if (r < 0)
        return r;
    frame->pts_ns = capture_time(intake, sample, arrival.grabbed_ns);
    frame->grabbed_ns = arrival.grabbed_ns;
    frame->sequence = arrival.sequence;
    source->counters.frames++;
    *ret_frame = frame;
    return 0;
}

GstSample *intake_take_sample(struct intake *intake)
{
    uint64_t replaced;

    return take_arrival(intake, &replaced).sample;
}

int intake_repeat(struct intake *intake, const struct frame *shown, struct frame **ret_frame)
{
    struct frame *frame;
    int r = make_copy_frames(intake, &shown->layout);

    if (r < 0)
        return r;
    frame = frame_pool_take(intake->copy_frames);
    if (!frame)
        return -ENOBUFS;
    copies_copy_frame(intake->environment->copies, COPY_CLIP_PAUSE, frame, &shown->layout,
                      shown->data);
    frame->pts_ns = frame->grabbed_ns = clock_now_ns();
    frame->sequence = shown->sequence;
    *ret_frame = frame;
    return 0;
}
