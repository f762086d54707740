#include "daemon/common/gst_start.h"

#include "capture/nvmm/nvbufsurface.h"
#include "daemon/common/log.h"

#include <dlfcn.h>
#include <gst/gst.h>

static void prepare_jetson(const struct board_profile *profile)
{
    nvbufsurface_hide_displays();
    for (size_t i = 0; i < 2; i++) {
        static const char *const names[] = {"libGLdispatch.so.0", "libEGL.so.1"};
        static void *libraries[2]; // for as long as the process lives

        libraries[i] = dlopen(names[i], RTLD_LAZY | RTLD_GLOBAL);
        if (!libraries[i])
            log_debug("%s", dlerror());
    }
    if (profile->codecs_of_card)
        g_setenv("AARCH64_DGPU", "1", TRUE);
}

static bool has_element(const char *name)
{
    g_autoptr(GstElementFactory) factory = gst_element_factory_find(name);

    return factory;
}

// Has GStreamer look again at each plugin in which it found nothing.
static void look_again(void)
{
    GstRegistry *registry = gst_registry_get();
    GList *plugins = gst_registry_get_plugin_list(registry);

    for (GList *item = plugins; item; item = item->next) {
        GstPlugin *plugin = item->data;
        GList *features =
            gst_registry_get_feature_list_by_plugin(registry, gst_plugin_get_name(plugin));

        if (!features && gst_plugin_get_filename(plugin))
            gst_registry_remove_plugin(registry, plugin);
        gst_plugin_feature_list_free(features);
    }
    gst_plugin_list_free(plugins);
    gst_update_registry();
}

void gst_start(const struct board_profile *profile)
{
    const char *encoder = config_encoder_name(CONFIG_ENCODER_NVV4L2);

    if (board_is_jetson(profile))
        prepare_jetson(profile);
    gst_init(NULL, NULL);
    if (!(board_encoders(profile) >> CONFIG_ENCODER_NVV4L2 & 1) || has_element(encoder))
        return;
    look_again();
    if (has_element(encoder))
        log_notice("GStreamer's list of plugins lacked %s, it has it now", encoder);
}
