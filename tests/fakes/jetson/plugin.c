#include "tests/fakes/jetson/jetson.h"

static char **options(void)
{
    const char *text = g_getenv("FAKE_JETSON");

    return g_strsplit(text ? text : "", ",", -1);
}

gboolean jetson_has_option(const char *word)
{
    g_auto(GStrv) words = options();

    return g_strv_contains((const char *const *)words, word);
}

char *jetson_report(void)
{
    g_auto(GStrv) words = options();

    for (char **word = words; *word; word++) {
        if (g_str_has_prefix(*word, "report="))
            return g_strdup(*word + strlen("report="));
    }
    return NULL;
}

GstPad *jetson_add_pad(GstElement *bin, GstElement *inside, const char *name)
{
    g_autoptr(GstPad) target = gst_element_get_static_pad(inside, name);
    GstPad *ghost = gst_ghost_pad_new(name, target);

    gst_element_add_pad(bin, ghost);
    return ghost;
}

gboolean jetson_has_cuvid(void)
{
    return jetson_has_option("cuvid") || (jetson_has_option("thor") && g_getenv("AARCH64_DGPU"));
}

static gboolean plugin_init(GstPlugin *plugin)
{
    if (jetson_has_option("nothing"))
        return TRUE;
    return gst_element_register(plugin, "nvarguscamerasrc", GST_RANK_NONE, jetson_argus_type()) &&
           gst_element_register(plugin, "nvvidconv", GST_RANK_NONE, jetson_vidconv_type()) &&
           gst_element_register(plugin, "nvv4l2h264enc", GST_RANK_NONE,
                                jetson_encoder_type(FALSE)) &&
           gst_element_register(plugin, "nvv4l2h265enc", GST_RANK_NONE,
                                jetson_encoder_type(TRUE)) &&
           gst_element_register(plugin, "nvjpegdec", GST_RANK_PRIMARY + 10,
                                jetson_decoder_type(JETSON_JPEG)) &&
           gst_element_register(plugin, "nvv4l2decoder", GST_RANK_PRIMARY + 11,
                                jetson_decoder_type(JETSON_H264));
}

#define PACKAGE "edged"
GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, fake_jetson, "A Jetson's elements",
                  plugin_init, EDGED_VERSION, "MIT/X11", PACKAGE, "edged")
