#include "capture/v4l2/v4l2_candidates.h"

#include "capture/pixel_format.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

// Drivers that never end a list are cut off here.
#define LIST_MAX 256

// What a format costs the rest of the way: NV12 goes to the encoder as it is, packed formats are
// read with a stride of 2, RGB needs arithmetic for luma, GREY has no colour, MJPG is decoded. What
// is not here, a sensor's raw samples, is no picture yet.
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
        if (format_costs[i].fourcc == fourcc) {
            return format_costs[i].cost;
        }
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

    if (interval->numerator == 0 || interval->denominator == 0) {
        return 0;
    }
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

    if (fract_seconds(&wanted) < fract_seconds(&range->min)) {
        return range->min;
    }
    if (fract_seconds(&wanted) > fract_seconds(&range->max)) {
        return range->max;
    }
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

        if (v4l2_device_ioctl(device, VIDIOC_ENUM_FRAMEINTERVALS, &query) < 0) {
            return;
        }
        interval = query.type == V4L2_FRMIVAL_TYPE_DISCRETE
                       ? query.discrete
                       : interval_in_range(&query.stepwise, wish->fps);
        if (interval.numerator > 0 && interval.denominator > 0 &&
            (candidate->interval.numerator == 0 ||
             rate_cost(&interval, wish->fps) < rate_cost(&candidate->interval, wish->fps))) {
            candidate->interval = interval;
        }
        if (query.type != V4L2_FRMIVAL_TYPE_DISCRETE) {
            return;
        }
    }
}

static uint32_t size_in_range(uint32_t min, uint32_t max, uint32_t step, uint32_t wanted)
{
    uint32_t size = wanted < min ? min : wanted > max ? max : wanted;
    uint32_t over = step > 1 ? (size - min) % step : 0;

    if (over > 0) {
        size = over * 2 < step || size - over > max - step ? size - over : size - over + step;
    }
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
    return candidate->width > 0 && candidate->height > 0 &&
           candidate->width <= V4L2_CANDIDATES_SIZE_MAX_PX &&
           candidate->height <= V4L2_CANDIDATES_SIZE_MAX_PX;
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

        if (v4l2_device_ioctl(device, VIDIOC_ENUM_FRAMESIZES, &query) < 0) {
            break;
        }
        if (size_from_entry(&query, wish, &candidate)) {
            evaluate(device, wish, &candidate);
            if (!found || candidate.cost < best.cost) {
                best = candidate;
                found = true;
            }
        }
        if (query.type != V4L2_FRMSIZE_TYPE_DISCRETE) {
            break;
        }
    }
    if (!found) {
        evaluate(device, wish, &best);
    }
    return best;
}

static void add_offered(struct v4l2_candidates *candidates, uint32_t fourcc)
{
    size_t length = strlen(candidates->offered);
    char name[5] = {(char)fourcc, (char)(fourcc >> 8), (char)(fourcc >> 16),
                    (char)(fourcc >> 24 & 127)};

    for (size_t i = 0; i < 4; i++) {
        name[i] = name[i] > ' ' && name[i] < 127 ? name[i] : '.';
    }
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
    if (wish->io == CONFIG_V4L2_IO_USERPTR && format->pixelformat == V4L2_PIX_FMT_MJPEG) {
        return false;
    }
    return name && emulated == device->converting &&
           (strcmp(wish->format, "auto") == 0 || strcmp(wish->format, name) == 0);
}

static void insert_sorted(struct v4l2_candidates *candidates, struct v4l2_candidate candidate)
{
    size_t i = candidates->count;

    if (i == V4L2_CANDIDATES_MAX) {
        return;
    }
    for (; i > 0 && candidates->list[i - 1].cost > candidate.cost; i--) {
        candidates->list[i] = candidates->list[i - 1];
    }
    candidates->list[i] = candidate;
    candidates->count++;
}

void v4l2_candidates_find(const struct v4l2_device *device, const struct config_camera *wish,
                          struct v4l2_candidates *ret_candidates)
{
    struct v4l2_candidates found = {0};

    for (uint32_t i = 0; i < LIST_MAX; i++) {
        struct v4l2_fmtdesc format = {.index = i, .type = V4L2_BUF_TYPE_VIDEO_CAPTURE};

        if (v4l2_device_ioctl(device, VIDIOC_ENUM_FMT, &format) < 0) {
            break;
        }
        add_offered(&found, format.pixelformat);
        if (is_wanted(device, wish, &format)) {
            insert_sorted(&found, find_mode(device, wish, format.pixelformat));
        }
    }
    if (found.offered[0] == '\0') {
        snprintf(found.offered, sizeof found.offered, "none");
    }
    *ret_candidates = found;
}

int v4l2_candidates_probe(const char *path, const struct config_camera *wish, struct error *error,
                          struct v4l2_candidate *ret_best)
{
    struct v4l2_candidates candidates = {0};
    char offered[sizeof candidates.offered];

    for (int converting = 0; converting < 2 && candidates.count == 0; converting++) {
        struct v4l2_device device;
        int r = v4l2_device_open(path, converting, error, &device);

        if (r < 0) {
            return r;
        }
        v4l2_candidates_find(&device, wish, &candidates);
        v4l2_device_close(&device);
        if (!converting) {
            memcpy(offered, candidates.offered, sizeof offered);
        }
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

    if (interval->numerator > 0) {
        snprintf(rate, sizeof rate, "@%g", (double)interval->denominator / interval->numerator);
    }
    snprintf(text, V4L2_CANDIDATE_TEXT_BYTES, "%s %ux%u%s%s", format ? format->name : "MJPG",
             candidate->width, candidate->height, rate,
             format && format->mosaic.bits > 0 ? ", raw samples" : "");
}
