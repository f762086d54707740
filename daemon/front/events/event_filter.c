#include "daemon/front/events/event_filter.h"

#include "config/config.h"

#include <glib.h>
#include <stdbool.h>

static bool is_asked(const char *asked, const char *name)
{
    return !asked || g_strcmp0(asked, name) == 0;
}

// Names of cameras need no escaping: the configuration allows only letters, digits, _ and -.
static char *list_cameras(const struct config *config)
{
    GString *list = g_string_new(NULL);

    for (size_t i = 0; i < config->camera_count; i++) {
        g_string_append_printf(list, "%s\"%s\"", i > 0 ? ", " : "", config->cameras[i].name);
    }
    return g_string_free(list, FALSE);
}

static char *list_regions(const struct config *config, const char *camera)
{
    GString *list = g_string_new(NULL);

    for (size_t i = 0; i < config->camera_count; i++) {
        const struct config_camera *each = &config->cameras[i];

        for (size_t j = 0; j < each->region_count && is_asked(camera, each->name); j++) {
            g_string_append_printf(list, "%s\"%s\" of camera \"%s\"", list->len ? ", " : "",
                                   each->regions[j].name, each->name);
        }
    }
    return g_string_free(list, FALSE);
}

static bool has_region(const struct config_camera *camera, const char *region)
{
    for (size_t i = 0; i < camera->region_count; i++) {
        if (is_asked(region, camera->regions[i].name)) {
            return true;
        }
    }
    return !region;
}

char *event_filter_refuse(const struct config *config, const char *camera, const char *region)
{
    bool camera_there = !camera;

    for (size_t i = 0; i < config->camera_count; i++) {
        bool asked = is_asked(camera, config->cameras[i].name);

        if (asked && has_region(&config->cameras[i], region)) {
            return NULL;
        }
        camera_there |= asked;
    }
    g_autofree char *list = camera_there ? list_regions(config, camera) : list_cameras(config);
    return g_strdup_printf("there is no %s \"%s\"; there is %s", camera_there ? "region" : "camera",
                           camera_there ? region : camera, list[0] ? list : "none");
}
