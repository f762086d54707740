// Appsinks that are late to tell that they have a picture and may play, as on a busy machine: a
// tracer holds up the message. For one test program, in one file.
#pragma once

#include <gst/app/gstappsink.h>
#include <gst/gst.h>

// How late, from now on; 0 at first. Any thread.
static _Atomic gulong late_sink_us;

typedef GstTracer LateSink;
typedef GstTracerClass LateSinkClass;
GType late_sink_get_type(void);
G_DEFINE_TYPE(LateSink, late_sink, GST_TYPE_TRACER)

static void late_sink_on_message(GObject *tracer, GstClockTime time, GstElement *element,
                                 GstMessage *message)
{
    (void)tracer;
    (void)time;
    if (GST_IS_APP_SINK(element) && GST_MESSAGE_TYPE(message) == GST_MESSAGE_ASYNC_DONE) {
        g_usleep(late_sink_us);
    }
}

static void late_sink_class_init(LateSinkClass *class)
{
    (void)class;
}

static void late_sink_init(LateSink *self)
{
    gst_tracing_register_hook(self, "element-post-message-pre", G_CALLBACK(late_sink_on_message));
}

// After gst_init(), once; for the rest of the program.
static inline void late_sink_install(void)
{
    static LateSink *tracer;

    tracer = tracer ? tracer : g_object_new(late_sink_get_type(), NULL);
}
