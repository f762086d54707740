// What a V4L2 device offers, best first: of every format edged knows, the size and rate nearest to
// the wish.
//
// Formats are compared by a cost: 10 for each 100 % the size is off (width and height), 4 for each
// 100 % the rate falls short, 0.1 for each 100 % it is above, plus 0 to 1 for the format itself, 1
// for a sensor's raw samples. So a format without conversion at the wanted size and rate beats
// MJPG, MJPG beats one that manages 5 of 30 frames/s, and a rate 20 % short does not pay for
// decoding JPEGs.
#pragma once

#include "capture/v4l2/v4l2_device.h"
#include "config/config.h"

struct v4l2_candidate {
    uint32_t fourcc; // of the table in capture/pixel_format.h, or V4L2_PIX_FMT_MJPEG
    uint32_t width, height;
    struct v4l2_fract interval; // seconds a frame; 0/0 when the driver does not say
    double cost;
};

#define V4L2_CANDIDATES_MAX 48
// Width and height of a picture at most: what a driver says beyond it is refused.
#define V4L2_CANDIDATES_SIZE_MAX_PX 16384

struct v4l2_candidates {
    struct v4l2_candidate list[V4L2_CANDIDATES_MAX]; // by rising cost
    size_t count;
    char offered[128]; // every format of the device, for messages: "YUYV, MJPG", or "none"
};

// Asks the device. With wish->format other than "auto" only that format is a candidate. On a
// converting device only formats libv4l2 emulates are, on a raw one only the driver's own.
void v4l2_candidates_find(const struct v4l2_device *device, const struct config_camera *wish,
                          struct v4l2_candidates *ret_candidates);

#define V4L2_CANDIDATE_TEXT_BYTES 64

// What the device at `path` would deliver for `wish`, by itself or converted by libv4l2. Errors are
// those of v4l2_device_open(), and -ENOTSUP if it has no format edged can use.
int v4l2_candidates_probe(const char *path, const struct config_camera *wish, struct error *error,
                          struct v4l2_candidate *ret_best);
// "YUYV 1280x720@30", "RG10 1640x1232@30, raw samples".
void v4l2_candidate_describe(const struct v4l2_candidate *candidate,
                             char text[V4L2_CANDIDATE_TEXT_BYTES]);
