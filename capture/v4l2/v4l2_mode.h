// The modes that a V4L2 device offers, best first; and the format, size and rate that are settled
// with it, the driver's answer turned into a layout.
//
// Formats are compared by a cost: 10 for each 100 % the size is off (width and height), 4 for each
// 100 % the rate falls short, 0.1 for each 100 % it is above, plus 0 to 1 for the format itself, 1
// for a sensor's raw samples. So a format without conversion at the wanted size and rate beats
// MJPG, MJPG beats one that manages 5 of 30 frames/s, and a rate 20 % short does not pay for
// decoding JPEGs.
#pragma once

#include "capture/frame.h"
#include "capture/v4l2/v4l2_device.h"
#include "config/config.h"

struct v4l2_candidate {
    uint32_t fourcc; // of the table in capture/pixel_format.h, or V4L2_PIX_FMT_MJPEG
    uint32_t width, height;
    struct v4l2_fract interval; // seconds a frame; 0/0 when the driver does not say
    double cost;
};

#define V4L2_CANDIDATES_MAX 48
#define V4L2_CANDIDATE_TEXT_BYTES 64

// The mode that the device at `path` would deliver for `wish`, by itself or converted by libv4l2.
// Errors are those of v4l2_device_open(), and -ENOTSUP if it has no format edged can use.
int v4l2_mode_probe(const char *path, const struct config_camera *wish, struct error *error,
                    struct v4l2_candidate *ret_best);
// "YUYV 1280x720@30", "RG10 1640x1232@30, raw samples".
void v4l2_candidate_describe(const struct v4l2_candidate *candidate,
                             char text[V4L2_CANDIDATE_TEXT_BYTES]);

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

// Sets range and colour of `layout` by colorspace, ycbcr_enc, quantization and xfer_func of `pix`,
// with V4L2's defaults for each colorspace where it names one, else with the layout's own. GREY
// stays full range unless the driver says limited. For V4L2_PIX_FMT_MJPEG, whose decoded pictures
// `layout` is of, JFIF's full range and BT.601 take the place of V4L2's defaults.
void v4l2_colour_read(const struct v4l2_pix_format *pix, struct frame_layout *layout);
