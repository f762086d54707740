#include "capture/gstreamer_decoders.h"

#include <stdbool.h>

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

static int on_select(GstElement *decodebin, GstPad *stream, GstCaps *caps,
                     GstElementFactory *factory, gpointer data)
{
    (void)decodebin;
    (void)stream;
    (void)data;
    return leaves_device_memory(factory) || wants_whole_file(factory, caps) ? AUTOPLUG_SELECT_SKIP
                                                                            : AUTOPLUG_SELECT_TRY;
}

// decodebin never takes it by itself, for it has no rank.
static void allow_gdk_pixbuf(void)
{
    g_autoptr(GstElementFactory) factory = gst_element_factory_find("gdkpixbufdec");

    if (factory) {
        gst_plugin_feature_set_rank(GST_PLUGIN_FEATURE(factory), GST_RANK_MARGINAL);
    }
}

void gstreamer_decoders_choose(GstElement *decodebin)
{
    allow_gdk_pixbuf();
    g_signal_connect(decodebin, "autoplug-select", G_CALLBACK(on_select), NULL);
}
