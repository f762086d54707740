#include "daemon/front/supervise/own_files.h"

#include <fcntl.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_below(const char *folder, const char *path)
{
    size_t length = folder ? strlen(folder) : 0;

    return length > 0 && strncmp(path, folder, length) == 0 && path[length] == '/';
}

// Whether the path leads into a folder, also by links; the file itself may be missing.
static bool leads_into(const char *folder, const char *path)
{
    g_autofree char *place = g_path_get_dirname(path);
    _cleanup_(cleanup_free) char *real_folder = folder ? realpath(folder, NULL) : NULL,
                                 *real_place = realpath(place, NULL);

    return is_below(folder, path) ||
           (real_folder && real_place &&
            (strcmp(real_place, real_folder) == 0 || is_below(real_folder, real_place)));
}

// The camera's files in the folders that the unit hides, borrowed from it.
static size_t list_hidden(const struct config_camera *camera, const char *config_path,
                          const char *paths[CAMERA_FILES_MAX])
{
    g_autofree char *folder = config_path ? g_path_get_dirname(config_path) : NULL;
    _cleanup_(cleanup_free) char *state = NULL;
    const char *all[CAMERA_FILES_MAX];
    size_t count = 0, all_count = camera_files_list(camera, all);

    if (state_path("", &state) == 0 && *state) {
        state[strlen(state) - 1] = '\0'; // the slash
    }
    for (size_t i = 0; i < all_count; i++) {
        if (leads_into(folder, all[i]) || leads_into(state, all[i]) ||
            leads_into(EDGED_SYSCONFDIR "/edged", all[i])) {
            paths[count++] = all[i];
        }
    }
    return count;
}

void own_files_open(struct own_files *files, const struct config_camera *camera,
                    const char *config_path)
{
    const char *paths[CAMERA_FILES_MAX];
    size_t count = list_hidden(camera, config_path, paths);
    struct stat status;

    own_files_finish(files);
    for (size_t i = 0; i < count; i++) {
        bool is_there = stat(paths[i], &status) == 0; // also one that may not be read

        files->paths[i] = g_strdup(paths[i]);
        files->fds[i] = open(paths[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        files->identities[i].device = is_there ? status.st_dev : 0;
        files->identities[i].inode = is_there ? status.st_ino : 0;
    }
    files->count = count;
}

static bool is_same(const struct own_files *files, const char *path)
{
    struct stat status;
    bool is_there = stat(path, &status) == 0;

    for (size_t i = 0; i < files->count; i++) {
        if (strcmp(path, files->paths[i]) == 0) {
            return files->identities[i].device == (is_there ? status.st_dev : 0) &&
                   files->identities[i].inode == (is_there ? status.st_ino : 0);
        }
    }
    return false;
}

const char *own_files_find_changed(const struct own_files *files,
                                   const struct config_camera *camera, const char *config_path)
{
    const char *paths[CAMERA_FILES_MAX];
    size_t count = list_hidden(camera, config_path, paths);

    for (size_t i = 0; i < count; i++) {
        if (!is_same(files, paths[i]))
            return paths[i];
    }
    return NULL;
}

void own_files_close(struct own_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        cleanup_close(&files->fds[i]);
        files->fds[i] = -1;
    }
}

void own_files_finish(struct own_files *files)
{
    own_files_close(files);
    for (size_t i = 0; i < files->count; i++)
        g_free(files->paths[i]);
    *files = (struct own_files){.count = 0};
}
