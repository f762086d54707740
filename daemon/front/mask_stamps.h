// Which pictures a camera's masks are: a reload starts the camera anew when one has changed, even
// under the same name.
#pragma once

#include "config/config.h"

// A line for each mask of its views and regions, with the file's inode, rights, size and time of
// its last change, so that texts are equal while the pictures are the same. A file that is not
// there has none of them. -ENOMEM. The caller frees *ret_text.
int mask_stamps(const struct config_camera *camera, char **ret_text);
