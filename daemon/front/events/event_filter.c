#include "daemon/front/events/event_filter.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

static enum config_role camera_role(const struct config_camera *camera)
{
    enum config_role least = CONFIG_ROLE_ADMIN;

    for (size_t i = 0; i < camera->view_count; i++) {
        least = MIN(least, config_view_role(&camera->views[i]));
    }
    return least;
}

enum config_role event_filter_role(const struct config *config, const char *camera)
{
    for (size_t i = 0; i < config->camera_count; i++) {
        if (strcmp(config->cameras[i].name, camera) == 0) {
            return camera_role(&config->cameras[i]);
        }
    }
    return CONFIG_ROLE_ADMIN;
}

static bool is_asked(const char *asked, const char *name)
{
    return !asked || g_strcmp0(asked, name) == 0;
}

// Names of cameras need no escaping: the configuration allows only letters, digits, _ and -.
static char *list_cameras(const struct config *config, enum config_role role)
{
    GString *list = g_string_new(NULL);

    for (size_t i = 0; i < config->camera_count; i++) {
        if (camera_role(&config->cameras[i]) <= role) {
            g_string_append_printf(list, "%s\"%s\"", list->len ? ", " : "",
                                   config->cameras[i].name);
        }
    }
    return g_string_free(list, FALSE);
}

static char *list_regions(const struct config *config, enum config_role role, const char *camera)
{
    GString *list = g_string_new(NULL);

    for (size_t i = 0; i < config->camera_count; i++) {
        const struct config_camera *each = &config->cameras[i];

        if (camera_role(each) > role || !is_asked(camera, each->name)) {
            continue;
        }
        for (size_t j = 0; j < each->region_count; j++) {
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

char *event_filter_refuse(const struct config *config, enum config_role role, const char *camera,
                          const char *region)
{
    bool camera_there = !camera;

    for (size_t i = 0; i < config->camera_count; i++) {
        bool asked =
            is_asked(camera, config->cameras[i].name) && camera_role(&config->cameras[i]) <= role;

        if (asked && has_region(&config->cameras[i], region)) {
            return NULL;
        }
        camera_there |= asked;
    }
    g_autofree char *list =
        camera_there ? list_regions(config, role, camera) : list_cameras(config, role);
    return g_strdup_printf("there is no %s \"%s\"; there is %s", camera_there ? "region" : "camera",
                           camera_there ? region : camera, list[0] ? list : "none");
}
