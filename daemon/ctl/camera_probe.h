// The V4L2 devices of this machine: whether one is a camera, and what it would deliver.
#pragma once

#include "capture/v4l2/v4l2_candidates.h"

#define CAMERA_DEVICES 64 // /dev/video0 to /dev/video63
#define CAMERA_MODE_BYTES 64

// What the device would deliver for `wish`; as it is, or converted by libv4l2. As
// v4l2_device_open(), and -ENOTSUP where it has not got wish->format.
int camera_probe(const char *path, const struct config_camera *wish, struct error *error,
                 struct v4l2_candidate *ret_mode);
// "YUYV 1280x720@30"
void camera_mode_text(const struct v4l2_candidate *mode, char text[CAMERA_MODE_BYTES]);
