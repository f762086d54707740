#include "capture/v4l2/v4l2_mode.h"

#include "capture/pixel_format.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

// Width and height of a picture at most: what a driver says beyond it is refused.
#define SIZE_MAX_PX 16384
// Drivers that never end a list are cut off here.
#define LIST_MAX 256

struct candidates {
    struct v4l2_candidate list[V4L2_CANDIDATES_MAX]; // by rising cost
    size_t count;
    char offered[128]; // every format of the device, for messages: "YUYV, MJPG", or "none"
};

// The cost of a format for the rest of the way: NV12 goes to the encoder as it is, packed formats
// are read with a stride of 2, RGB needs arithmetic for luma, GREY has no colour, MJPG is decoded.
// A format that is missing here, a sensor's raw samples, is no picture yet.
static const struct {
    uint32_t fourcc;
    double cost;
} format_costs[] = {
    {V4L2_PIX_FMT_NV12, 0},     {V4L2_PIX_FMT_YUV420, 0.05}, {V4L2_PIX_FMT_YUYV, 0.1},
    {V4L2_PIX_FMT_UYVY, 0.1},   {V4L2_PIX_FMT_NV21, 0.15},   {V4L2_PIX_FMT_YUV422P, 0.15},
    {V4L2_PIX_FMT_XBGR32, 0.3}, {V4L2_PIX_FMT_RGB24, 0.35},  {V4L2_PIX_FMT_BGR24, 0.35},
    {V4L2_PIX_FMT_GREY, 0.5},   {V4L2_PIX_FMT_MJPEG, 0.9},
};

static double format_cost(uint32_t fourcc)
{
    for (size_t i = 0; i < ARRAY_LENGTH(format_costs); i++) {
        if (format_costs[i].fourcc == fourcc)
            return format_costs[i].cost;
    }
    return 1;
}

static double distance(uint32_t got, int wanted)
{
    double off = (double)got - wanted;

    return (off < 0 ? -off : off) / wanted;
}

static double rate_cost(const struct v4l2_fract *interval, int wanted)
{
    double ratio;

    if (interval->numerator == 0 || interval->denominator == 0)
        return 0;
    ratio = (double)interval->denominator / interval->numerator / wanted;
    return ratio < 1 ? 4 * (1 - ratio) : 0.1 * (ratio < 2 ? ratio - 1 : 1);
}

static double fract_seconds(const struct v4l2_fract *fract)
{
    return fract->denominator ? (double)fract->numerator / fract->denominator : 0;
}

// The wanted interval, kept inside what a continuous or stepwise range allows.
static struct v4l2_fract interval_in_range(const struct v4l2_frmival_stepwise *range, int fps)
{
    struct v4l2_fract wanted = {1, (uint32_t)fps};

    if (fract_seconds(&wanted) < fract_seconds(&range->min))
        return range->min;
    if (fract_seconds(&wanted) > fract_seconds(&range->max))
        return range->max;
    return wanted;
}

static void find_interval(const struct v4l2_device *device, const struct config_camera *wish,
                          struct v4l2_candidate *candidate)
{
    candidate->interval = (struct v4l2_fract){0};
    for (uint32_t i = 0; i < LIST_MAX; i++) {
        struct v4l2_frmivalenum query = {
            .index = i,
            .pixel_format = candidate->fourcc,
            .width = candidate->width,
            .height = candidate->height,
        };
        struct v4l2_fract interval;

        if (v4l2_device_ioctl(device, VIDIOC_ENUM_FRAMEINTERVALS, &query) < 0)
            return;
        interval = query.type == V4L2_FRMIVAL_TYPE_DISCRETE
                       ? query.discrete
                       : interval_in_range(&query.stepwise, wish->fps);
        if (interval.numerator > 0 && interval.denominator > 0 &&
            (candidate->interval.numerator == 0 ||
             rate_cost(&interval, wish->fps) < rate_cost(&candidate->interval, wish->fps))) {
            candidate->interval = interval;
        }
        if (query.type != V4L2_FRMIVAL_TYPE_DISCRETE)
            return;
    }
}

static uint32_t size_in_range(uint32_t min, uint32_t max, uint32_t step, uint32_t wanted)
{
    uint32_t size = wanted < min ? min : wanted > max ? max : wanted;
    uint32_t over = step > 1 ? (size - min) % step : 0;

    if (over > 0)
        size = over * 2 < step || size - over > max - step ? size - over : size - over + step;
    return size;
}

// The size entry `query` allows that is nearest to the wish. False for nonsense.
static bool size_from_entry(const struct v4l2_frmsizeenum *query, const struct config_camera *wish,
                            struct v4l2_candidate *candidate)
{
    const struct v4l2_frmsize_stepwise *range = &query->stepwise;

    if (query->type == V4L2_FRMSIZE_TYPE_DISCRETE) {
        candidate->width = query->discrete.width;
        candidate->height = query->discrete.height;
    } else if (range->min_width > range->max_width || range->min_height > range->max_height) {
        return false;
    } else {
        candidate->width = size_in_range(range->min_width, range->max_width, range->step_width,
                                         (uint32_t)wish->width);
        candidate->height = size_in_range(range->min_height, range->max_height, range->step_height,
                                          (uint32_t)wish->height);
    }
    return candidate->width > 0 && candidate->height > 0 && candidate->width <= SIZE_MAX_PX &&
           candidate->height <= SIZE_MAX_PX;
}

static void evaluate(const struct v4l2_device *device, const struct config_camera *wish,
                     struct v4l2_candidate *candidate)
{
    find_interval(device, wish, candidate);
    candidate->cost =
        format_cost(candidate->fourcc) + rate_cost(&candidate->interval, wish->fps) +
        10 * (distance(candidate->width, wish->width) + distance(candidate->height, wish->height));
}

// The best size and rate of one format. A driver that lists no sizes is asked for the wish.
static struct v4l2_candidate find_mode(const struct v4l2_device *device,
                                       const struct config_camera *wish, uint32_t fourcc)
{
    struct v4l2_candidate best = {
        .fourcc = fourcc,
        .width = (uint32_t)wish->width,
        .height = (uint32_t)wish->height,
    };
    bool found = false;

    for (uint32_t i = 0; i < LIST_MAX; i++) {
        struct v4l2_frmsizeenum query = {.index = i, .pixel_format = fourcc};
        struct v4l2_candidate candidate = {.fourcc = fourcc};

        if (v4l2_device_ioctl(device, VIDIOC_ENUM_FRAMESIZES, &query) < 0)
            break;
        if (size_from_entry(&query, wish, &candidate)) {
            evaluate(device, wish, &candidate);
            if (!found || candidate.cost < best.cost) {
                best = candidate;
                found = true;
            }
        }
        if (query.type != V4L2_FRMSIZE_TYPE_DISCRETE)
            break;
    }
    if (!found)
        evaluate(device, wish, &best);
    return best;
}

static void add_offered(struct candidates *candidates, uint32_t fourcc)
{
    size_t length = strlen(candidates->offered);
    char name[5] = {(char)fourcc, (char)(fourcc >> 8), (char)(fourcc >> 16),
                    (char)(fourcc >> 24 & 127)};

    for (size_t i = 0; i < 4; i++)
        name[i] = name[i] > ' ' && name[i] < 127 ? name[i] : '.';
    snprintf(candidates->offered + length, sizeof candidates->offered - length, "%s%s",
             length > 0 ? ", " : "", name);
}

static bool is_wanted(const struct v4l2_device *device, const struct config_camera *wish,
                      const struct v4l2_fmtdesc *format)
{
    const struct pixel_format *known = pixel_format_by_fourcc(format->pixelformat);
    const char *name = format->pixelformat == V4L2_PIX_FMT_MJPEG ? "MJPG"
                       : known                                   ? known->name
                                                                 : NULL;
    bool emulated = format->flags & V4L2_FMT_FLAG_EMULATED;

    // A decoded JPEG is read from the driver's own buffer: there is no USERPTR for it.
    if (wish->io == CONFIG_V4L2_IO_USERPTR && format->pixelformat == V4L2_PIX_FMT_MJPEG)
        return false;
    return name && emulated == device->converting &&
           (strcmp(wish->format, "auto") == 0 || strcmp(wish->format, name) == 0);
}

static void insert_sorted(struct candidates *candidates, struct v4l2_candidate candidate)
{
    size_t i = candidates->count;

    if (i == V4L2_CANDIDATES_MAX)
        return;
    for (; i > 0 && candidates->list[i - 1].cost > candidate.cost; i--)
        candidates->list[i] = candidates->list[i - 1];
    candidates->list[i] = candidate;
    candidates->count++;
}

// Asks the device. With wish->format other than "auto" only that format is a candidate. On a
// converting device only formats libv4l2 emulates are, on a raw one only the driver's own.
static void find_candidates(const struct v4l2_device *device, const struct config_camera *wish,
                            struct candidates *ret_candidates)
{
    struct candidates found = {0};

    for (uint32_t i = 0; i < LIST_MAX; i++) {
        struct v4l2_fmtdesc format = {.index = i, .type = V4L2_BUF_TYPE_VIDEO_CAPTURE};

        if (v4l2_device_ioctl(device, VIDIOC_ENUM_FMT, &format) < 0)
            break;
        add_offered(&found, format.pixelformat);
        if (is_wanted(device, wish, &format))
            insert_sorted(&found, find_mode(device, wish, format.pixelformat));
    }
    if (found.offered[0] == '\0')
        snprintf(found.offered, sizeof found.offered, "none");
    *ret_candidates = found;
}

int v4l2_mode_probe(const char *path, const struct config_camera *wish, struct error *error,
                    struct v4l2_candidate *ret_best)
{
    struct candidates candidates = {0};
    char offered[sizeof candidates.offered];

    for (int converting = 0; converting < 2 && candidates.count == 0; converting++) {
        struct v4l2_device device;
        int r = v4l2_device_open(path, converting, error, &device);

        if (r < 0)
            return r;
        find_candidates(&device, wish, &candidates);
        v4l2_device_close(&device);
        if (!converting)
            memcpy(offered, candidates.offered, sizeof offered);
    }
    if (candidates.count == 0) {
        return error_set(error, -ENOTSUP, "%s has no format edged can use; it offers %s", path,
                         offered);
    }
    *ret_best = candidates.list[0];
    return 0;
}

void v4l2_candidate_describe(const struct v4l2_candidate *candidate,
                             char text[V4L2_CANDIDATE_TEXT_BYTES])
{
    const struct v4l2_fract *interval = &candidate->interval;
    const struct pixel_format *format = pixel_format_by_fourcc(candidate->fourcc);
    char rate[24] = "";

    if (interval->numerator > 0)
        snprintf(rate, sizeof rate, "@%g", (double)interval->denominator / interval->numerator);
    snprintf(text, V4L2_CANDIDATE_TEXT_BYTES, "%s %ux%u%s%s", format ? format->name : "MJPG",
             candidate->width, candidate->height, rate,
             format && format->mosaic.bits > 0 ? ", raw samples" : "");
}

// 0: unspecified.
static const uint8_t primaries_of[] = {
    [V4L2_COLORSPACE_SMPTE170M] = 6,    [V4L2_COLORSPACE_SMPTE240M] = 7,
    [V4L2_COLORSPACE_REC709] = 1,       [V4L2_COLORSPACE_BT878] = 6,
    [V4L2_COLORSPACE_470_SYSTEM_M] = 4, [V4L2_COLORSPACE_470_SYSTEM_BG] = 5,
    [V4L2_COLORSPACE_JPEG] = 1,         [V4L2_COLORSPACE_SRGB] = 1,
    [V4L2_COLORSPACE_BT2020] = 9,       [V4L2_COLORSPACE_DCI_P3] = 11,
};
static const uint8_t transfer_of[] = {
    [V4L2_XFER_FUNC_709] = 1,        [V4L2_XFER_FUNC_SRGB] = 13, [V4L2_XFER_FUNC_OPRGB] = 4,
    [V4L2_XFER_FUNC_SMPTE240M] = 7,  [V4L2_XFER_FUNC_NONE] = 8,  [V4L2_XFER_FUNC_DCI_P3] = 17,
    [V4L2_XFER_FUNC_SMPTE2084] = 16,
};
static const uint8_t matrix_of[] = {
    [V4L2_YCBCR_ENC_601] = 6,
    [V4L2_YCBCR_ENC_709] = 1,
    [V4L2_YCBCR_ENC_XV601] = 6,
    [V4L2_YCBCR_ENC_XV709] = 1,
    [V4L2_YCBCR_ENC_SYCC] = 6,
    [V4L2_YCBCR_ENC_BT2020] = 9,
    [V4L2_YCBCR_ENC_BT2020_CONST_LUM] = 10,
    [V4L2_YCBCR_ENC_SMPTE240M] = 7,
};

static uint32_t number_of(const uint8_t *table, size_t length, uint32_t index)
{
    return index < length && table[index] ? table[index] : COLOUR_UNSPECIFIED;
}

static bool says_colorspace(const struct v4l2_pix_format *pix)
{
    return pix->colorspace != V4L2_COLORSPACE_DEFAULT && pix->colorspace != V4L2_COLORSPACE_RAW;
}

static struct frame_colour read_colour(const struct v4l2_pix_format *pix)
{
    uint32_t transfer = pix->xfer_func, matrix = pix->ycbcr_enc;

    if (says_colorspace(pix) && transfer == V4L2_XFER_FUNC_DEFAULT)
        transfer = V4L2_MAP_XFER_FUNC_DEFAULT(pix->colorspace);
    if (says_colorspace(pix) && matrix == V4L2_YCBCR_ENC_DEFAULT &&
        pix->pixelformat != V4L2_PIX_FMT_MJPEG) {
        matrix = V4L2_MAP_YCBCR_ENC_DEFAULT(pix->colorspace);
    }
    return (struct frame_colour){
        number_of(primaries_of, ARRAY_LENGTH(primaries_of), pix->colorspace),
        number_of(transfer_of, ARRAY_LENGTH(transfer_of), transfer),
        number_of(matrix_of, ARRAY_LENGTH(matrix_of), matrix)};
}

static enum frame_range read_range(const struct v4l2_pix_format *pix,
                                   const struct frame_layout *layout)
{
    switch (pix->quantization) {
    case V4L2_QUANTIZATION_FULL_RANGE:
        return FRAME_RANGE_FULL;
    case V4L2_QUANTIZATION_LIM_RANGE:
        return FRAME_RANGE_LIMITED;
    }
    return pix->pixelformat == V4L2_PIX_FMT_MJPEG || pix->colorspace == V4L2_COLORSPACE_JPEG
               ? FRAME_RANGE_FULL
               : layout->range;
}

void v4l2_colour_read(const struct v4l2_pix_format *pix, struct frame_layout *layout)
{
    bool rgb = layout->format->luma_step == 0;
    struct frame_colour said = read_colour(pix), otherwise = layout->colour;

    layout->range = rgb ? FRAME_RANGE_FULL : read_range(pix, layout);
    if (pix->pixelformat == V4L2_PIX_FMT_MJPEG)
        otherwise = (struct frame_colour){COLOUR_BT709, COLOUR_SRGB, COLOUR_BT601};
    if (rgb)
        said.matrix = COLOUR_RGB;
    layout->colour = frame_colour_complete(said, otherwise);
}

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

        if (stride == 0)
            stride = layout->planes[i].stride;
        else if (format->plane_count == 3 && i > 0)
            stride >>= format->planes[i].shift_x;
        if (stride < layout->planes[i].width_bytes || stride > IMAGE_MAX_BYTES)
            return false;
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
    if (pix->pixelformat != fourcc)
        return error_set(error, -ENOTSUP, "%s does not accept the format it lists", device->path);
    if (!field_is_whole_picture(pix->field)) {
        return error_set(
            error, -ENOTSUP,
            "%s delivers the fields of interlaced pictures one by one, which edged does "
            "not put together: have it deliver whole or progressive pictures",
            device->path);
    }
    if (pix->width == 0 || pix->height == 0 || pix->width > SIZE_MAX_PX ||
        pix->height > SIZE_MAX_PX || pix->sizeimage == 0 || pix->sizeimage > IMAGE_MAX_BYTES ||
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
    if (interval->numerator == 0)
        *interval = (struct v4l2_fract){1, (uint32_t)fps};
    mode->fps_numerator = interval->denominator;
    mode->fps_denominator = interval->numerator;
    if (v4l2_device_ioctl(device, VIDIOC_S_PARM, &parm) < 0) {
        parm = (struct v4l2_streamparm){.type = V4L2_BUF_TYPE_VIDEO_CAPTURE};
        if (v4l2_device_ioctl(device, VIDIOC_G_PARM, &parm) < 0)
            return;
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

    if (r == -EINVAL)
        return error_set(error, -ENOTSUP, "%s does not accept the format it lists", device->path);
    if (r < 0)
        return v4l2_device_failed(device, r, "set the format", error);
    r = check_answer(device, &format.fmt.pix, candidate->fourcc, error, &mode);
    if (r < 0)
        return r;
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

    if (white == 0)
        return 0;
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

    if (refused->raw && format && format->mosaic.bits > 0)
        return true;
    for (size_t i = 0; i < refused->count; i++) {
        if (refused->list[i] == fourcc)
            return true;
    }
    return false;
}

int v4l2_mode_negotiate(const struct v4l2_device *device, const struct config_camera *wish,
                        const struct v4l2_refused *refused, struct error *error,
                        struct v4l2_mode *ret_mode)
{
    bool any = strcmp(wish->format, "auto") == 0;
    struct candidates candidates;
    int r;

    find_candidates(device, wish, &candidates);
    r = error_set(error, -ENOTSUP, "%s has no format edged can use%s%s%s; it offers %s",
                  device->path, any ? "" : " as ", any ? "" : wish->format,
                  wish->io == CONFIG_V4L2_IO_USERPTR ? " with io = \"userptr\"" : "",
                  candidates.offered);
    for (size_t i = 0; i < candidates.count && r == -ENOTSUP; i++) {
        if (!is_refused(refused, candidates.list[i].fourcc))
            r = try_candidate(device, &candidates.list[i], wish->fps, error, ret_mode);
    }
    return r < 0 ? r : read_development(device, wish, error, ret_mode);
}
