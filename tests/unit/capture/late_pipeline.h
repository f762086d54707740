// Pipelines that are late, as on a busy machine: a tracer holds up what their elements say. For one
// test program, in one file.
#pragma once

#define GST_USE_UNSTABLE_API // of tracers, in GStreamer 1.16

#include <gst/app/gstappsink.h>
#include <gst/gst.h>

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
    if (GST_IS_APP_SINK(element) && GST_MESSAGE_TYPE(message) == GST_MESSAGE_ASYNC_DONE) {
        g_usleep(late_sink_us);
    }
}

static void late_pipeline_on_event(GObject *tracer, GstClockTime time, GstPad *pad, GstEvent *event)
{
    (void)tracer;
    (void)time;
    if (GST_EVENT_TYPE(event) != GST_EVENT_SEEK) {
        return;
    }
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
static inline void late_pipeline_install(void)
{
    static LatePipeline *tracer;

    tracer = tracer ? tracer : g_object_new(late_pipeline_get_type(), NULL);
}
