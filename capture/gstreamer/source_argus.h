// A camera on a Jetson's CSI connector, through NVIDIA's camera stack (Argus), which makes pictures
// of what the sensor sends.
#pragma once

#include <stdbool.h>

// Whether this is a Jetson with such a camera: GStreamer has nvarguscamerasrc, the kernel a sensor
// (below `root`, "" for this machine's files, class/video4linux/*/name in /sys begins with
// "vi-output"), and NVIDIA's nvargus-daemon listens on /tmp/argus_socket.
bool source_argus_has_camera(const char *root);
