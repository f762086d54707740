// The files that the configuration of one camera names and its process reads: its login, its
// picture or clip, and masks.
#pragma once

#include "config/config.h"

#include <stddef.h>

#define CAMERA_FILES_MAX 64

// Lists their paths, borrowed from `camera`, each once at least; returns how many.
size_t camera_files_list(const struct config_camera *camera,
                         const char *ret_paths[CAMERA_FILES_MAX]);
