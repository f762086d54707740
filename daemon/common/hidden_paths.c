#include "daemon/common/hidden_paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct teller {
    void (*tell)(void *context, const char *key, const char *path);
    void *context;
};

static bool is_hidden(const char *path)
{
    static const char *const hidden[] = {"/home/", "/root/", "/run/user/"};
    _cleanup_(cleanup_free) char *real = *path ? realpath(path, NULL) : NULL;

    for (size_t i = 0; i < ARRAY_LENGTH(hidden); i++) {
        if (strncmp(path, hidden[i], strlen(hidden[i])) == 0 ||
            (real && strncmp(real, hidden[i], strlen(hidden[i])) == 0)) {
            return true;
        }
    }
    return false;
}

static void look(const struct teller *teller, const char *key, const char *path)
{
    if (path && is_hidden(path)) {
        teller->tell(teller->context, key, path);
    }
}

static void look_at_camera(const struct teller *teller, size_t index,
                           const struct config_camera *camera)
{
    char key[80];

    snprintf(key, sizeof key, "cameras[%zu].path", index);
    look(teller, key, camera->source == CONFIG_SOURCE_FILE ? camera->path : NULL);
    snprintf(key, sizeof key, "cameras[%zu].credentials", index);
    look(teller, key, camera->source == CONFIG_SOURCE_RTSP ? camera->credentials : NULL);
    for (size_t i = 0; i < camera->view_count; i++) {
        snprintf(key, sizeof key, "cameras[%zu].views[%zu].mask", index, i);
        look(teller, key, camera->views[i].mask);
    }
    for (size_t i = 0; i < camera->region_count; i++) {
        snprintf(key, sizeof key, "cameras[%zu].regions[%zu].mask", index, i);
        look(teller, key, camera->regions[i].mask);
    }
}

void hidden_paths_tell(const struct config *config,
                       void (*tell)(void *context, const char *key, const char *path),
                       void *context)
{
    const struct teller teller = {tell, context};

    look(&teller, "rtsp.users", config->rtsp.users);
    look(&teller, "rtsp.certificate", config->rtsp.certificate);
    look(&teller, "rtsp.key", config->rtsp.key);
    for (size_t i = 0; i < config->camera_count; i++) {
        look_at_camera(&teller, i, &config->cameras[i]);
    }
}
