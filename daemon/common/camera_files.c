#include "daemon/common/camera_files.h"

struct path_list {
    const char **paths;
    size_t count;
};

static void add(struct path_list *list, const char *path)
{
    if (path && *path && list->count < CAMERA_FILES_MAX)
        list->paths[list->count++] = path;
}

size_t camera_files_list(const struct config_camera *camera,
                         const char *ret_paths[CAMERA_FILES_MAX])
{
    struct path_list list = {ret_paths, 0};

    add(&list, camera->credentials);
    add(&list, camera->path);
    for (size_t i = 0; i < camera->view_count; i++)
        add(&list, camera->views[i].mask);
    for (size_t i = 0; i < camera->region_count; i++)
        add(&list, camera->regions[i].mask);
    return list.count;
}
