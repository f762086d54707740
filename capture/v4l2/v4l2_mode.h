// Settles format, size and rate with a V4L2 device, and turns the driver's answer into a layout.
#pragma once

#include "capture/frame.h"
#include "capture/v4l2/v4l2_candidates.h"
#include "capture/v4l2/v4l2_device.h"
#include "config/config.h"

struct v4l2_mode {
    struct v4l2_pix_format answer; // of the driver
    uint32_t fourcc; // what driver buffers hold; V4L2_PIX_FMT_MJPEG or layout.format->fourcc
    uint32_t width, height;
    size_t size_bytes; // of one driver buffer
    // The picture in a driver buffer, its size at least size_bytes. Unset for MJPG.
    struct frame_layout layout;
    unsigned fps_numerator, fps_denominator;
};

// Formats that are not to be chosen.
struct v4l2_refused {
    uint32_t list[V4L2_CANDIDATES_MAX];
    size_t count;
    bool raw; // a sensor's raw samples
};

// Sets the best mode the device accepts, of a format that is not in `refused`. -ENOTSUP: no format
// in common (lists what the device has); -EINVAL: samples are never above what the wish says is
// black; -EBUSY: another program streams; -ENODEV, -EIO as v4l2_device_failed().
int v4l2_mode_negotiate(const struct v4l2_device *device, const struct config_camera *wish,
                        const struct v4l2_refused *refused, struct error *error,
                        struct v4l2_mode *ret_mode);
