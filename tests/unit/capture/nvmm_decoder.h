// A decoder as on a Jetson: of the highest rank, its pictures in memory no other element can read.
// For one test program, in one file.
#pragma once

#include <gst/gst.h>

typedef struct {
    GstElement element;
    GstPad *src;
} NvmmDecoder;
typedef GstElementClass NvmmDecoderClass;
GType nvmm_decoder_get_type(void);
G_DEFINE_TYPE(NvmmDecoder, nvmm_decoder, GST_TYPE_ELEMENT)

static GstStaticPadTemplate nvmm_decoder_sink =
    GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS("video/x-h264"));
static GstStaticPadTemplate nvmm_decoder_src = GST_STATIC_PAD_TEMPLATE(
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS("video/x-raw(memory:NVMM), format=NV12"));

static gboolean nvmm_decoder_event(GstPad *pad, GstObject *parent, GstEvent *event)
{
    GstCaps *caps;
    gboolean sent;

    if (GST_EVENT_TYPE(event) != GST_EVENT_CAPS) {
        return gst_pad_event_default(pad, parent, event);
    }
    gst_event_unref(event);
    caps = gst_caps_from_string("video/x-raw(memory:NVMM), format=NV12, width=160, height=120, "
                                "framerate=50/1");
    sent = gst_pad_push_event(((NvmmDecoder *)parent)->src, gst_event_new_caps(caps));
    gst_caps_unref(caps);
    return sent;
}

static GstFlowReturn nvmm_decoder_chain(GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
    (void)pad;
    return gst_pad_push(((NvmmDecoder *)parent)->src, buffer);
}

static void nvmm_decoder_class_init(NvmmDecoderClass *class)
{
    gst_element_class_add_static_pad_template(class, &nvmm_decoder_sink);
    gst_element_class_add_static_pad_template(class, &nvmm_decoder_src);
    gst_element_class_set_static_metadata(class, "NVMM decoder", "Codec/Decoder/Video",
                                          "Decodes to device memory", "edged");
}

static void nvmm_decoder_init(NvmmDecoder *self)
{
    GstPad *sink = gst_pad_new_from_static_template(&nvmm_decoder_sink, "sink");

    self->src = gst_pad_new_from_static_template(&nvmm_decoder_src, "src");
    gst_pad_set_event_function(sink, nvmm_decoder_event);
    gst_pad_set_chain_function(sink, nvmm_decoder_chain);
    gst_pad_use_fixed_caps(self->src);
    gst_element_add_pad(&self->element, sink);
    gst_element_add_pad(&self->element, self->src);
}

// After gst_init(), once; it has the highest rank for the rest of the program.
static inline void nvmm_decoder_install(void)
{
    gst_element_register(NULL, "nvmm_decoder", GST_RANK_PRIMARY + 11, nvmm_decoder_get_type());
}
