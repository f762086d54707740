#include "capture/v4l2/v4l2_mode.h"

#include "capture/v4l2/v4l2_colour.h"

#include <errno.h>
#include <string.h>

#define IMAGE_MAX_BYTES (256U << 20)

// The planes of V4L2's single-buffer formats lie one behind the other; `bytesperline` is that of
// the first, and the chroma planes of YU12 and 422P have half of it. False when the driver's
// numbers do not hold a picture.
static bool layout_from_driver(struct frame_layout *layout, const struct v4l2_pix_format *pix)
{
    const struct pixel_format *format = pixel_format_by_fourcc(pix->pixelformat);
    size_t end = 0;

    frame_layout_init(layout, format, pix->width, pix->height, 1);
    for (unsigned i = 0; i < format->plane_count; i++) {
        size_t stride = pix->bytesperline;

        if (stride == 0) {
            stride = layout->planes[i].stride;
        } else if (format->plane_count == 3 && i > 0) {
            stride >>= format->planes[i].shift_x;
        }
        if (stride < layout->planes[i].width_bytes || stride > IMAGE_MAX_BYTES) {
            return false;
        }
        layout->planes[i].stride = stride;
        layout->planes[i].offset = end;
        end += stride * layout->planes[i].rows;
    }
    layout->size = end > pix->sizeimage ? end : pix->sizeimage;
    v4l2_colour_read(pix, layout);
    return end <= pix->sizeimage;
}

static bool field_is_whole_picture(uint32_t field)
{
    return field == V4L2_FIELD_NONE || field == V4L2_FIELD_ANY || field == V4L2_FIELD_INTERLACED ||
           field == V4L2_FIELD_INTERLACED_TB || field == V4L2_FIELD_INTERLACED_BT;
}

static int check_answer(const struct v4l2_device *device, const struct v4l2_pix_format *pix,
                        uint32_t fourcc, struct error *error, struct v4l2_mode *mode)
{
    if (pix->pixelformat != fourcc || !field_is_whole_picture(pix->field)) {
        return error_set(error, -ENOTSUP, "%s does not accept the format it lists", device->path);
    }
    if (pix->width == 0 || pix->height == 0 || pix->width > V4L2_CANDIDATES_SIZE_MAX_PX ||
        pix->height > V4L2_CANDIDATES_SIZE_MAX_PX || pix->sizeimage == 0 ||
        pix->sizeimage > IMAGE_MAX_BYTES ||
        (fourcc != V4L2_PIX_FMT_MJPEG && !layout_from_driver(&mode->layout, pix))) {
        return error_set(error, -ENOTSUP,
                         "%s: the driver's numbers make no picture: %ux%u, %u bytes a line, %u in "
                         "all",
                         device->path, pix->width, pix->height, pix->bytesperline, pix->sizeimage);
    }
    mode->answer = *pix;
    mode->fourcc = fourcc;
    mode->width = pix->width;
    mode->height = pix->height;
    mode->size_bytes = pix->sizeimage;
    return 0;
}

// The rate is a wish too: drivers without the ioctl keep their own.
static void set_rate(const struct v4l2_device *device, const struct v4l2_candidate *candidate,
                     int fps, struct v4l2_mode *mode)
{
    struct v4l2_streamparm parm = {.type = V4L2_BUF_TYPE_VIDEO_CAPTURE};
    struct v4l2_fract *interval = &parm.parm.capture.timeperframe;

    *interval = candidate->interval;
    if (interval->numerator == 0) {
        *interval = (struct v4l2_fract){1, (uint32_t)fps};
    }
    mode->fps_numerator = interval->denominator;
    mode->fps_denominator = interval->numerator;
    if (v4l2_device_ioctl(device, VIDIOC_S_PARM, &parm) < 0) {
        parm = (struct v4l2_streamparm){.type = V4L2_BUF_TYPE_VIDEO_CAPTURE};
        if (v4l2_device_ioctl(device, VIDIOC_G_PARM, &parm) < 0) {
            return;
        }
    }
    if (interval->numerator > 0 && interval->denominator > 0) {
        mode->fps_numerator = interval->denominator;
        mode->fps_denominator = interval->numerator;
    }
}

// 10000000/333333 is 30.00003; 1000/33333 is 0.03: reduced, and rounded where nobody would tell.
static void tidy_rate(struct v4l2_mode *mode)
{
    double rate = (double)mode->fps_numerator / mode->fps_denominator;
    unsigned whole = rate < 1e6 ? (unsigned)(rate + 0.5) : 0;

    if (whole > 0 && rate > whole * 0.9999 && rate < whole * 1.0001) {
        mode->fps_numerator = whole;
        mode->fps_denominator = 1;
    }
}

static int try_candidate(const struct v4l2_device *device, const struct v4l2_candidate *candidate,
                         int fps, struct error *error, struct v4l2_mode *ret_mode)
{
    struct v4l2_format format = {
        .type = V4L2_BUF_TYPE_VIDEO_CAPTURE,
        .fmt.pix = {.width = candidate->width,
                    .height = candidate->height,
                    .pixelformat = candidate->fourcc,
                    .field = V4L2_FIELD_NONE},
    };
    struct v4l2_mode mode = {0};
    int r = v4l2_device_ioctl(device, VIDIOC_S_FMT, &format);

    if (r == -EINVAL) {
        return error_set(error, -ENOTSUP, "%s does not accept the format it lists", device->path);
    }
    if (r < 0) {
        return v4l2_device_failed(device, r, "set the format", error);
    }
    r = check_answer(device, &format.fmt.pix, candidate->fourcc, error, &mode);
    if (r < 0) {
        return r;
    }
    set_rate(device, candidate, fps, &mode);
    tidy_rate(&mode);
    *ret_mode = mode;
    return 0;
}

// How raw samples are to be developed; nothing for formats that are pictures.
static int read_development(const struct v4l2_device *device, const struct config_camera *wish,
                            struct error *error, struct v4l2_mode *mode)
{
    const struct pixel_format *format = mode->layout.format;
    int white = format ? (1 << format->mosaic.bits) - 1 : 0;

    if (white == 0) {
        return 0;
    }
    if (wish->raw_black >= white) {
        return error_set(error, -EINVAL, "%s: raw_black is %d, but samples of %s are 0 to %d",
                         device->path, wish->raw_black, format->name, white);
    }
    mode->layout.development =
        (struct frame_development){(uint16_t)wish->raw_black, wish->raw_gain * wish->raw_red,
                                   wish->raw_gain, wish->raw_gain * wish->raw_blue};
    return 0;
}

static bool is_refused(const struct v4l2_refused *refused, uint32_t fourcc)
{
    const struct pixel_format *format = pixel_format_by_fourcc(fourcc);

    if (refused->raw && format && format->mosaic.bits > 0) {
        return true;
    }
    for (size_t i = 0; i < refused->count; i++) {
        if (refused->list[i] == fourcc) {
            return true;
        }
    }
    return false;
}

int v4l2_mode_negotiate(const struct v4l2_device *device, const struct config_camera *wish,
                        const struct v4l2_refused *refused, struct error *error,
                        struct v4l2_mode *ret_mode)
{
    bool any = strcmp(wish->format, "auto") == 0;
    struct v4l2_candidates candidates;
    int r;

    v4l2_candidates_find(device, wish, &candidates);
    r = error_set(error, -ENOTSUP, "%s has no format edged can use%s%s%s; it offers %s",
                  device->path, any ? "" : " as ", any ? "" : wish->format,
                  wish->io == CONFIG_V4L2_IO_USERPTR ? " with io = \"userptr\"" : "",
                  candidates.offered);
    for (size_t i = 0; i < candidates.count && r == -ENOTSUP; i++) {
        if (!is_refused(refused, candidates.list[i].fourcc)) {
            r = try_candidate(device, &candidates.list[i], wish->fps, error, ret_mode);
        }
    }
    return r < 0 ? r : read_development(device, wish, error, ret_mode);
}
