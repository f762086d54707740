// The side of the intake that GStreamer's streaming threads call: samples and news go into the
// mailbox, the ALLOCATION query is answered.
#include "capture/gstreamer/gstreamer_caps.h"
#include "capture/gstreamer/gstreamer_intake_private.h"
#include "capture/gstreamer/gstreamer_names.h"
#include "capture/gstreamer/gstreamer_pool.h"

#include <errno.h>
#include <gst/app/gstappsink.h>
#include <string.h>

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

static GstFlowReturn on_sample(GstAppSink *sink, gpointer data)
{
    struct intake *intake = data;
    GstSample *sample = gst_app_sink_try_pull_sample(sink, 0), *older;

    if (!sample) {
        return GST_FLOW_OK;
    }
    pthread_mutex_lock(&intake->lock);
    while (intake->in_order && intake->sample && !intake->stopping) {
        pthread_cond_wait(&intake->changed, &intake->lock);
    }
    older = intake->sample;
    intake->sample = sample;
    intake->grabbed_ns = clock_now_ns();
    intake->arrived++;
    intake->replaced += older != NULL;
    pthread_cond_broadcast(&intake->changed);
    pthread_mutex_unlock(&intake->lock);
    if (older) {
        gst_sample_unref(older);
    }
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
    if (details) {
        g_strdelimit(++details, "\n", ' ');
    }
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
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
        note_failure(intake, message);
    }
    pthread_cond_broadcast(&intake->changed);
    pthread_mutex_unlock(&intake->lock);
    gst_message_unref(message);
    return GST_BUS_DROP;
}

// The pool for pictures laid out as `layout`, with a new reference; NULL without memory.
static struct frame_pool *pool_for(struct intake *intake, const struct frame_layout *layout)
{
    struct frame_pool *frames = NULL;

    pthread_mutex_lock(&intake->lock);
    if (!intake->frames || !frame_layout_equal(frame_pool_layout(intake->frames), layout)) {
        frame_pool_unref(intake->frames);
        intake->frames = NULL;
        frame_pool_new(layout, INTAKE_POOL_FRAMES, intake->environment->allocator, &intake->frames);
    }
    if (intake->frames) {
        frames = frame_pool_ref(intake->frames);
    }
    pthread_mutex_unlock(&intake->lock);
    return frames;
}

static GstPadProbeReturn on_query(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);
    const struct intake *intake = data;
    struct source_mode mode = {0};
    struct frame_pool *frames;
    GstBufferPool *pool;
    GstCaps *caps = NULL;

    (void)pad;
    if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION || intake->surfaces ||
        !intake->environment->allocator) {
        return GST_PAD_PROBE_OK;
    }
    gst_query_parse_allocation(query, &caps, NULL);
    if (!caps || gstreamer_caps_read(caps, &mode) < 0) {
        return GST_PAD_PROBE_OK;
    }
    frames = pool_for(data, &mode.layout);
    if (!frames) {
        return GST_PAD_PROBE_OK;
    }
    pool = gstreamer_pool_new(frames);
    gst_query_add_allocation_pool(query, pool, (guint)mode.layout.size, 0, 0);
    gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL);
    gst_object_unref(pool);
    frame_pool_unref(frames);
    return GST_PAD_PROBE_HANDLED;
}

void intake_connect(struct intake *intake)
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
