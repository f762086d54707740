#include "daemon/front/supervise/secret_files.h"

#include "config/users.h"
#include "daemon/common/service_files.h"

#include <string.h>

struct list {
    GPtrArray *paths;
    const struct config_camera *reader;
    const char *storage;
};

static void add(const struct list *list, const char *path)
{
    size_t length = list->storage ? strlen(list->storage) : 0;

    if (!path || !*path || (list->reader && g_strcmp0(path, list->reader->credentials) == 0))
        return;
    if (length > 0 && strncmp(path, list->storage, length) == 0 && path[length] == '/')
        return;
    g_ptr_array_add(list->paths, g_strdup(path));
}

static void add_state(const struct list *list, const char *name)
{
    _cleanup_(cleanup_free) char *path = NULL;

    if (state_path(name, &path) == 0)
        add(list, path);
}

char **secret_files_list(const struct config *config, const char *config_path,
                         const struct config_camera *reader, const char *storage)
{
    const struct list list = {g_ptr_array_new(), reader, storage};
    _cleanup_(cleanup_free) char *tokens = users_default_path(USERS_TOKENS, config_path);
    _cleanup_(cleanup_free) char *onvif = users_default_path(USERS_ONVIF, config_path);

    add(&list, config_path);
    add(&list, config->rtsp.users);
    add(&list, config->rtsp.tokens);
    add(&list, tokens); // whether it is there or not, as the next
    add(&list, onvif);
    add(&list, config->rtsp.key);
    add(&list, config->mqtt.password_file);
    add(&list, getenv("CREDENTIALS_DIRECTORY"));
    add_state(&list, "tls.pem");
    add_state(&list, "settings.conf");
    for (size_t i = 0; i < config->camera_count; i++)
        add(&list, config->cameras[i].credentials);
    g_ptr_array_add(list.paths, NULL);
    return (char **)g_ptr_array_free(list.paths, FALSE);
}
