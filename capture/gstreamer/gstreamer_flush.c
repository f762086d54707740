#include "capture/gstreamer/gstreamer_flush.h"

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

void gstreamer_flush_queues(GstElement *pipeline)
{
    GstIterator *elements = gst_bin_iterate_recurse(GST_BIN(pipeline));

    gst_iterator_foreach(elements, flush_queue, NULL);
    gst_iterator_free(elements);
}
