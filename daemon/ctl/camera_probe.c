#include "daemon/ctl/camera_probe.h"

#include "capture/pixel_format.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void camera_mode_text(const struct v4l2_candidate *mode, char text[CAMERA_MODE_BYTES])
{
    const struct v4l2_fract *interval = &mode->interval;
    const struct pixel_format *format = pixel_format_by_fourcc(mode->fourcc);
    double fps = interval->numerator ? (double)interval->denominator / interval->numerator : 0;

    snprintf(text, CAMERA_MODE_BYTES, "%c%c%c%c %ux%u", mode->fourcc & 127, mode->fourcc >> 8 & 127,
             mode->fourcc >> 16 & 127, mode->fourcc >> 24 & 127, mode->width, mode->height);
    if (fps > 0) {
        snprintf(text + strlen(text), CAMERA_MODE_BYTES - strlen(text), "@%g", fps);
    }
    if (format && format->mosaic.bits > 0) {
        snprintf(text + strlen(text), CAMERA_MODE_BYTES - strlen(text), ", raw samples");
    }
}

int camera_probe(const char *path, const struct config_camera *wish, struct error *error,
                 struct v4l2_candidate *ret_mode)
{
    char offered[128] = "";

    for (int converting = 0; converting < 2; converting++) {
        struct v4l2_candidates candidates = {0};
        struct v4l2_device device;
        int r = v4l2_device_open(path, converting, error, &device);

        if (r < 0) {
            return r;
        }
        v4l2_candidates_find(&device, wish, &candidates);
        v4l2_device_close(&device);
        if (candidates.count > 0) {
            *ret_mode = candidates.list[0];
            return 0;
        }
        if (!converting) {
            memcpy(offered, candidates.offered, sizeof offered);
        }
    }
    return error_set(error, -ENOTSUP, "%s delivers %s, not format = \"%s\"", path, offered,
                     wish->format);
}
