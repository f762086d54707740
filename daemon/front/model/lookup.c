#include "daemon/front/model/lookup.h"

#include "daemon/front/model/front_camera.h"

#include <string.h>

// Of a camera that is shown the views, else the cameras.
static struct lookup_absent list_views(const GPtrArray *cameras, enum config_role role,
                                       const char *camera, const char *view)
{
    GString *views = g_string_new(NULL), *names = g_string_new(NULL);

    for (guint i = 0; i < cameras->len; i++) {
        const struct front_camera *each = g_ptr_array_index(cameras, i);
        const char *name = front_camera_name(each);

        if (!front_camera_find_stream(each, role, NULL))
            continue;
        g_string_append_printf(names, "%s\"%s\"", names->len ? ", " : "", name);
        if (!camera || strcmp(name, camera) == 0)
            front_camera_list_views(each, role, views);
    }
    bool of_view = views->len > 0;
    struct lookup_absent absent = {.key = of_view ? "view" : "camera",
                                   .name = of_view  ? view
                                           : camera ? camera
                                                    : "",
                                   .allowed = g_strdup(of_view      ? views->str
                                                       : names->len ? names->str
                                                                    : "none")};
    g_string_free(views, TRUE);
    g_string_free(names, TRUE);
    return absent;
}

struct stream *lookup_view(const GPtrArray *cameras, enum config_role role, const char *camera,
                           const char *view, struct lookup_absent *ret_absent)
{
    for (guint i = 0; i < cameras->len; i++) {
        const struct front_camera *each = g_ptr_array_index(cameras, i);

        if (!camera || strcmp(front_camera_name(each), camera) == 0) {
            struct stream *stream = front_camera_find_stream(each, role, view);

            if (stream)
                return stream;
        }
    }
    if (ret_absent)
        *ret_absent = list_views(cameras, role, camera, view);
    return NULL;
}

static enum config_role camera_role(const struct config_camera *camera)
{
    enum config_role least = CONFIG_ROLE_ADMIN;

    for (size_t i = 0; i < camera->view_count; i++)
        least = MIN(least, config_view_role(&camera->views[i]));
    return least;
}

enum config_role lookup_role(const struct config *config, const char *camera)
{
    for (size_t i = 0; i < config->camera_count; i++) {
        if (strcmp(config->cameras[i].name, camera) == 0)
            return camera_role(&config->cameras[i]);
    }
    return CONFIG_ROLE_ADMIN;
}

enum config_role lookup_view_role(const struct config *config, const char *camera, const char *view)
{
    for (size_t i = 0; i < config->camera_count; i++) {
        const struct config_camera *each = &config->cameras[i];

        for (size_t j = 0; j < each->view_count && strcmp(each->name, camera) == 0; j++) {
            if (strcmp(each->views[j].name, view) == 0)
                return config_view_role(&each->views[j]);
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

        if (camera_role(each) > role || !is_asked(camera, each->name))
            continue;
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
        if (is_asked(region, camera->regions[i].name))
            return true;
    }
    return !region;
}

bool lookup_region(const struct config *config, enum config_role role, const char *camera,
                   const char *region, struct lookup_absent *ret_absent)
{
    bool camera_there = !camera;

    for (size_t i = 0; i < config->camera_count; i++) {
        bool asked =
            is_asked(camera, config->cameras[i].name) && camera_role(&config->cameras[i]) <= role;

        if (asked && has_region(&config->cameras[i], region))
            return true;
        camera_there |= asked;
    }
    g_autofree char *list =
        camera_there ? list_regions(config, role, camera) : list_cameras(config, role);
    *ret_absent = (struct lookup_absent){.key = camera_there ? "region" : "camera",
                                         .name = camera_there ? region : camera,
                                         .allowed = g_strdup(list[0] ? list : "none")};
    return false;
}
