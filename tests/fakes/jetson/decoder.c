// nvjpegdec and nvv4l2decoder: a decoder on the CPU, whose pictures nvvidconv brings into surfaces.
#include "tests/fakes/jetson/jetson.h"

static const struct decoder {
    const char *type, *takes, *makes, *inside;
} decoders[] = {
    [JETSON_JPEG] = {"EdgedFakeNvjpegdec", "image/jpeg",
                     "video/x-raw(memory:NVMM),format=NV12; video/x-raw,format=NV12",
                     "jpegdec ! videoconvert ! nvvidconv"},
    [JETSON_H264] =
        {"EdgedFakeNvdec", "video/x-h264,stream-format=byte-stream,alignment=au",
         "video/x-raw(memory:NVMM),format=NV12",
         "avdec_h264 ! videoconvert ! nvvidconv ! capsfilter caps=video/x-raw(memory:NVMM)"},
};

static const struct decoder *decoder_of(gpointer type_class)
{
    return &decoders[g_str_equal(G_OBJECT_CLASS_NAME(type_class), decoders[JETSON_H264].type)];
}

static void add_template(gpointer type_class, GstPadDirection direction, const char *text)
{
    g_autoptr(GstCaps) caps = gst_caps_from_string(text);

    gst_element_class_add_pad_template(
        type_class, gst_pad_template_new(direction == GST_PAD_SINK ? "sink" : "src", direction,
                                         GST_PAD_ALWAYS, caps));
}

static void class_init(gpointer type_class, gpointer data)
{
    const struct decoder *decoder = decoder_of(type_class);

    (void)data;
    add_template(type_class, GST_PAD_SINK, decoder->takes);
    add_template(type_class, GST_PAD_SRC, decoder->makes);
    gst_element_class_set_static_metadata(type_class, "Decoder into surfaces",
                                          "Codec/Decoder/Video", "For edged's tests", "edged");
}

static void init(GTypeInstance *instance, gpointer type_class)
{
    GstElement *bin = GST_ELEMENT(instance);
    GstElement *inside = gst_parse_bin_from_description(decoder_of(type_class)->inside, TRUE, NULL);

    gst_bin_add(GST_BIN(bin), inside);
    jetson_add_pad(bin, inside, "sink");
    jetson_add_pad(bin, inside, "src");
}

GType jetson_decoder_type(enum jetson_decoder decoder)
{
    return g_type_register_static_simple(GST_TYPE_BIN, decoders[decoder].type, sizeof(GstBinClass),
                                         class_init, sizeof(GstBin), init, 0);
}
