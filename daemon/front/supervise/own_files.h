// The files of a camera that its process cannot open by itself where systemd starts it, because its
// unit hides their folders: the front opens them, and notices when another file takes the place of
// one, which a running process cannot see.
#pragma once

#include "daemon/common/service_files.h"

#include <sys/types.h>

// Embedded; starts out as {0}.
struct own_files {
    char *paths[CAMERA_FILES_MAX]; // owned
    int fds[CAMERA_FILES_MAX];     // of these files; -1: it cannot be read, or is closed
    struct {
        dev_t device;
        ino_t inode; // 0: it was not there
    } identities[CAMERA_FILES_MAX];
    size_t count;
};

// Opens those in the folder of the configuration file (NULL: there is none) and in the state
// directory. What was open before is closed.
void own_files_open(struct own_files *files, const struct config_camera *camera,
                    const char *config_path);
// The path of a file that has come, gone or been replaced since, or is one more; NULL: there is
// none. Borrowed from `camera`.
const char *own_files_find_changed(const struct own_files *files,
                                   const struct config_camera *camera, const char *config_path);
// Closes them; what they were is still known.
void own_files_close(struct own_files *files);
void own_files_finish(struct own_files *files);
