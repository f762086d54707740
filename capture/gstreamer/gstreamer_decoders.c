#include "capture/gstreamer/gstreamer_decoders.h"

#include <gst/video/video.h>
#include <stdbool.h>
#include <string.h>

// decodebin's GstAutoplugSelectResult, which no header has.
enum autoplug_select { AUTOPLUG_SELECT_TRY, AUTOPLUG_SELECT_EXPOSE, AUTOPLUG_SELECT_SKIP };

static bool leaves_device_memory(GstElementFactory *factory)
{
    const GstElementFactoryListType pictures = GST_ELEMENT_FACTORY_TYPE_DECODER |
                                               GST_ELEMENT_FACTORY_TYPE_MEDIA_VIDEO |
                                               GST_ELEMENT_FACTORY_TYPE_MEDIA_IMAGE;
    g_autoptr(GstCaps) readable = gst_caps_new_empty_simple("video/x-raw");

    return gst_element_factory_list_is_type(factory, pictures) &&
           !gst_element_factory_can_src_any_caps(factory, readable);
}

static bool wants_whole_file(GstElementFactory *factory, const GstCaps *caps)
{
    const char *media = gst_structure_get_name(gst_caps_get_structure(caps, 0));

    return g_str_has_prefix(GST_OBJECT_NAME(factory), "avdec_") &&
           (g_str_equal(media, "image/bmp") || g_str_equal(media, "image/tiff"));
}

// Whether another decoder than that one may take the stream.
static bool has_other(GstElementFactory *factory, const GstCaps *caps)
{
    GList *decoders = gst_element_factory_list_get_elements(
        GST_ELEMENT_FACTORY_TYPE_DECODER | GST_ELEMENT_FACTORY_TYPE_MEDIA_VIDEO, GST_RANK_MARGINAL);
    GList *fitting = gst_element_factory_list_filter(decoders, caps, GST_PAD_SINK, FALSE);
    bool has = false;

    for (GList *item = fitting; item; item = item->next)
        has |= item->data != factory && !leaves_device_memory(item->data);
    gst_plugin_feature_list_free(fitting);
    gst_plugin_feature_list_free(decoders);
    return has;
}

// libde265dec announces 8 bits for pictures of 10 and writes past their end. openh264dec was made
// for the baseline profiles; it decodes others with small errors, for which it is the last resort.
static bool is_wrong(GstElementFactory *factory, const GstCaps *caps)
{
    const char *name = GST_OBJECT_NAME(factory);
    const char *profile = gst_structure_get_string(gst_caps_get_structure(caps, 0), "profile");

    if (g_str_equal(name, "openh264dec"))
        return !(profile && strstr(profile, "baseline")) && has_other(factory, caps);
    return g_str_equal(name, "libde265dec");
}

static int on_select(GstElement *decodebin, GstPad *stream, GstCaps *caps,
                     GstElementFactory *factory, gpointer data)
{
    (void)decodebin;
    (void)stream;
    (void)data;
    return leaves_device_memory(factory) || wants_whole_file(factory, caps) ||
                   is_wrong(factory, caps)
               ? AUTOPLUG_SELECT_SKIP
               : AUTOPLUG_SELECT_TRY;
}

static void on_unknown(GstElement *decodebin, GstPad *stream, GstCaps *caps, gpointer data)
{
    static const char *const in_good[] = {"image/jpeg", "image/png", "video/x-vp8", "video/x-vp9"};
    const char *media = gst_structure_get_name(gst_caps_get_structure(caps, 0));
    bool good = false;

    (void)stream;
    (void)data;
    for (size_t i = 0; i < G_N_ELEMENTS(in_good); i++)
        good |= g_str_equal(media, in_good[i]);
    if (g_str_has_prefix(media, "video/") || g_str_has_prefix(media, "image/")) {
        GST_ELEMENT_ERROR(decodebin, STREAM, CODEC_NOT_FOUND,
                          ("no decoder for %s is installed that edged can use: install the package "
                           "gstreamer1.0-%s",
                           media, good ? "plugins-good" : "libav"),
                          (NULL));
    }
}

// decodebin never takes it by itself, for it has no rank.
static void allow_gdk_pixbuf(void)
{
    g_autoptr(GstElementFactory) factory = gst_element_factory_find("gdkpixbufdec");

    if (factory)
        gst_plugin_feature_set_rank(GST_PLUGIN_FEATURE(factory), GST_RANK_MARGINAL);
}

// The same caps without a range; NULL where they have none.
static GstCaps *drop_range(const GstCaps *caps)
{
    const char *text = gst_structure_get_string(gst_caps_get_structure(caps, 0), "colorimetry");
    g_autofree gchar *unknown = NULL;
    GstVideoColorimetry said;
    GstCaps *dropped;

    if (!text || !gst_video_colorimetry_from_string(&said, text))
        return NULL;
    unknown = g_strdup_printf("%d:%d:%d:%d", GST_VIDEO_COLOR_RANGE_UNKNOWN, said.matrix,
                              said.transfer, said.primaries);
    dropped = gst_caps_copy(caps);
    gst_caps_set_simple(dropped, "colorimetry", G_TYPE_STRING, unknown, NULL);
    return dropped;
}

static GstPadProbeReturn on_event(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
    g_autoptr(GstCaps) dropped = NULL;
    GstCaps *caps;

    (void)pad;
    (void)data;
    if (GST_EVENT_TYPE(event) != GST_EVENT_CAPS)
        return GST_PAD_PROBE_OK;
    gst_event_parse_caps(event, &caps);
    dropped = drop_range(caps);
    if (dropped) {
        GST_PAD_PROBE_INFO_DATA(info) = gst_event_new_caps(dropped);
        gst_event_unref(event);
    }
    return GST_PAD_PROBE_OK;
}

static void on_stream(GstElement *demuxer, GstPad *stream, gpointer data)
{
    (void)demuxer;
    (void)data;
    gst_pad_add_probe(stream, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, on_event, NULL, NULL);
}

static GstPadProbeReturn on_pull(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    gint64 size;

    (void)data;
    if (!gst_pad_peer_query_duration(pad, GST_FORMAT_BYTES, &size) ||
        GST_PAD_PROBE_INFO_OFFSET(info) < (guint64)size) {
        return GST_PAD_PROBE_PASS;
    }
    GST_PAD_PROBE_INFO_FLOW_RETURN(info) = GST_FLOW_ERROR;
    return GST_PAD_PROBE_HANDLED;
}

// Ubuntu 24.04's gst-libav does not tell FFmpeg's demuxers that the file is over, so that they try
// for ever to read on, a GIF's before the first picture. An error ends them.
static void end_libav_demuxer(GstElement *demuxer)
{
    g_autoptr(GstPad) pad = gst_element_get_static_pad(demuxer, "sink");

    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_PULL | GST_PAD_PROBE_TYPE_BLOCK, on_pull, NULL, NULL);
}

// qtdemux takes every range in an MP4 for limited. Decoders know it from the stream.
static void on_element(GstBin *decodebin, GstElement *element, gpointer data)
{
    const GstElementFactory *factory = gst_element_get_factory(element);

    (void)decodebin;
    (void)data;
    if (factory && g_str_equal(GST_OBJECT_NAME(factory), "qtdemux"))
        g_signal_connect(element, "pad-added", G_CALLBACK(on_stream), NULL);
    if (factory && g_str_has_prefix(GST_OBJECT_NAME(factory), "avdemux_"))
        end_libav_demuxer(element);
}

void gstreamer_decoders_choose(GstElement *decodebin)
{
    allow_gdk_pixbuf();
    g_signal_connect(decodebin, "element-added", G_CALLBACK(on_element), NULL);
    g_signal_connect(decodebin, "autoplug-select", G_CALLBACK(on_select), NULL);
    g_signal_connect(decodebin, "unknown-type", G_CALLBACK(on_unknown), NULL);
}

static void be_exact(GstElement *element)
{
    const GstElementFactory *factory = gst_element_get_factory(element);

    if (factory && g_str_equal(GST_OBJECT_NAME(factory), "jpegdec"))
        gst_util_set_object_arg(G_OBJECT(element), "idct-method", "islow");
}

static void on_deep_element(GstBin *pipeline, GstBin *bin, GstElement *element, gpointer data)
{
    (void)pipeline;
    (void)bin;
    (void)data;
    be_exact(element);
}

static void on_present_element(const GValue *item, gpointer data)
{
    (void)data;
    be_exact(g_value_get_object(item));
}

void gstreamer_decoders_be_exact(GstBin *pipeline)
{
    GstIterator *present = gst_bin_iterate_recurse(pipeline);

    gst_iterator_foreach(present, on_present_element, NULL);
    gst_iterator_free(present);
    g_signal_connect(pipeline, "deep-element-added", G_CALLBACK(on_deep_element), NULL);
}
