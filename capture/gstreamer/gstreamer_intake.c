#include "capture/gstreamer/gstreamer_intake.h"

#include "capture/gstreamer/gstreamer_caps.h"
#include "capture/gstreamer/gstreamer_decoders.h"
#include "capture/gstreamer/gstreamer_flush.h"
#include "capture/gstreamer/gstreamer_intake_private.h"
#include "capture/gstreamer/gstreamer_names.h"
#include "capture/gstreamer/gstreamer_surfaces.h"

#include <errno.h>

#define REPLAY_TIMEOUT_NS NS_PER_S
#define SINK "edged_sink"

static int parse(struct intake *intake, const char *fragment, const GstCaps *caps,
                 struct error *error)
{
    g_autofree gchar *caps_text = gst_caps_to_string(caps);
    g_autofree gchar *text =
        g_strdup_printf("%s ! appsink name=" SINK " enable-last-sample=false max-buffers=1 "
                        "drop=%s sync=%s caps=\"%s\"",
                        fragment, intake->in_order ? "false" : "true",
                        intake->in_order ? "false" : "true", caps_text);
    g_autoptr(GError) problem = NULL;

    intake->pipeline = gst_parse_launch_full(text, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &problem);
    if (!intake->pipeline) {
        gstreamer_names_settle(problem->message);
        return error_set(error, -EINVAL, "%s", problem->message);
    }
    gst_object_ref_sink(intake->pipeline);
    if (GST_IS_PIPELINE(intake->pipeline)) {
        intake->sink = gst_bin_get_by_name(GST_BIN(intake->pipeline), SINK);
    }
    return intake->sink ? 0 : error_set(error, -EINVAL, "it has no open end to take frames from");
}

int intake_new(const char *fragment, const GstCaps *caps, bool in_order,
               const struct source_environment *environment, struct error *error,
               struct intake **ret_intake)
{
    _cleanup_(cleanup_intake) struct intake *intake = calloc(1, sizeof *intake);
    int r;

    if (!intake) {
        return error_set(error, -ENOMEM, "out of memory");
    }
    intake->environment = environment;
    intake->in_order = in_order;
    pthread_mutex_init(&intake->lock, NULL);
    condition_init(&intake->changed);
    r = parse(intake, fragment, caps, error);
    if (r < 0) {
        return r;
    }
    gstreamer_decoders_be_exact(GST_BIN(intake->pipeline));
    intake_connect(intake);
    *ret_intake = TAKE(intake);
    return 0;
}

static bool wait_changed(struct intake *intake, int64_t deadline_ns)
{
    struct timespec until = {deadline_ns / NS_PER_S, deadline_ns % NS_PER_S};

    return pthread_cond_timedwait(&intake->changed, &intake->lock, &until) == 0;
}

static void wait_until_replayed(struct intake *intake, int64_t deadline_ns)
{
    pthread_mutex_lock(&intake->lock);
    while (intake->replaying > 0 && wait_changed(intake, deadline_ns)) {
    }
    pthread_mutex_unlock(&intake->lock);
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
    if (intake->pipeline && intake->in_order) {
        gstreamer_flush_queues(intake->pipeline);
    }
    wait_until_replayed(intake, clock_now_ns() + REPLAY_TIMEOUT_NS);
    if (intake->pipeline) {
        gst_element_set_state(intake->pipeline, state);
    }
    wait_until_replayed(intake, INT64_MAX);
}

void intake_free(struct intake *intake)
{
    if (!intake) {
        return;
    }
    gstreamer_surfaces_end(intake->surfaces);
    stop(intake, GST_STATE_NULL);
    if (intake->sink) {
        // It has kept the last sample, and a thread of GStreamer's may hold the pipeline yet.
        gst_bin_remove(GST_BIN(intake->pipeline), intake->sink);
    }
    g_clear_pointer(&intake->sample, gst_sample_unref);
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
    if (intake->sample) {
        return INTAKE_SAMPLE;
    }
    if (intake->failed) {
        return INTAKE_FAILED;
    }
    return intake->eos ? INTAKE_EOS : INTAKE_TIMEOUT;
}

enum intake_event intake_wait(struct intake *intake, int64_t deadline_ns)
{
    enum intake_event event;

    pthread_mutex_lock(&intake->lock);
    do {
        event = take_event(intake);
    } while (event == INTAKE_TIMEOUT && wait_changed(intake, deadline_ns));
    pthread_mutex_unlock(&intake->lock);
    return event;
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
    if (*ret_caps) {
        return 0;
    }
    if (failed) {
        return intake_failure(intake, error);
    }
    return eos ? error_set(error, -ENODATA, "it ended before the first picture")
               : error_set(error, -ETIMEDOUT, "it delivered nothing within %d s",
                           (int)(INTAKE_OPEN_TIMEOUT_NS / NS_PER_S));
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
    if (r < 0) {
        return r;
    }
    if (gstreamer_caps_read(caps, mode) < 0) {
        return error_set(error, -EINVAL, "no video comes out in a format edged knows");
    }
    gst_caps_replace(&intake->caps, caps);
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
    g_clear_pointer(&intake->sample, gst_sample_unref);
    intake->replaced = 0;
    pthread_mutex_unlock(&intake->lock);
    if (!intake->live) {
        gst_element_set_state(intake->pipeline, GST_STATE_PLAYING);
    }
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

static void repeat_segment(GstElement *pipeline, gpointer data)
{
    struct intake *intake = data;
    GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), SINK);

    seek_segment(sink, GST_SEEK_FLAG_NONE);
    gst_object_unref(sink);
    pthread_mutex_lock(&intake->lock);
    intake->replaying--;
    pthread_cond_broadcast(&intake->changed);
    pthread_mutex_unlock(&intake->lock);
}

void intake_repeat_segment(struct intake *intake)
{
    pthread_mutex_lock(&intake->lock);
    intake->replaying++;
    pthread_mutex_unlock(&intake->lock);
    gst_element_call_async(intake->pipeline, repeat_segment, intake, NULL);
}
