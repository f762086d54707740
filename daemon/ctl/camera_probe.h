// The V4L2 devices of this machine: whether one is a camera, and what it would deliver.
#pragma once

#include "capture/v4l2/v4l2_candidates.h"

#define CAMERA_DEVICES 64 // /dev/video0 to /dev/video63
#define CAMERA_MODE_BYTES 64

// Finds out what the device would deliver for `wish`, by itself or converted by libv4l2. Errors are
// those of v4l2_device_open(), and -ENOTSUP if it does not have wish->format.
int camera_probe(const char *path, const struct config_camera *wish, struct error *error,
                 struct v4l2_candidate *ret_mode);
// "YUYV 1280x720@30", "RG10 1640x1232@30, raw samples".
void camera_mode_text(const struct v4l2_candidate *mode, char text[CAMERA_MODE_BYTES]);
