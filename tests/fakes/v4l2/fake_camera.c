// The fake camera's description, formats, sizes and rates.
#include "tests/fakes/v4l2/fake_camera.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int fake_refuse(int code)
{
    errno = code;
    return -1;
}

const char *fake_option(const char *spec, const char *key, char value[static 512])
{
    size_t length = strlen(key);

    value[0] = '\0';
    for (const char *at = spec; (at = strstr(at, key)); at += length) {
        if ((at == spec || at[-1] == ' ') && at[length] == '=') {
            sscanf(at + length + 1, "%511[^ ]", value);
            break;
        }
    }
    return value;
}

bool fake_option_is(const struct fake_camera *camera, const char *key, const char *expected)
{
    char value[512];

    return strcmp(fake_option(camera->spec, key, value), expected) == 0;
}

unsigned fake_option_number(const struct fake_camera *camera, const char *key, unsigned fallback)
{
    char value[512];

    fake_option(camera->spec, key, value);
    return value[0] ? (unsigned)strtoul(value, NULL, 10) : fallback;
}

bool fake_every(const struct fake_camera *camera, const char *key, unsigned fallback)
{
    unsigned n = fake_option_number(camera, key, fallback);

    return n > 0 && (camera->frames + 1) % n == 0;
}

// Item `index` of a list between commas; false past its end.
static bool item(const struct fake_camera *camera, const char *key, const char *fallback,
                 unsigned index, char text[static 512])
{
    char list[512];
    char *rest = list, *part;

    fake_option(camera->spec, key, list);
    if (!list[0])
        snprintf(list, sizeof list, "%s", fallback);
    while ((part = strsep(&rest, ","))) {
        if (index-- == 0) {
            snprintf(text, 512, "%s", part);
            return true;
        }
    }
    return false;
}

static uint32_t fourcc(const char name[static 4])
{
    return v4l2_fourcc(name[0], name[1], name[2], name[3]);
}

bool fake_format_at(const struct fake_camera *camera, unsigned index, uint32_t *ret_fourcc,
                    unsigned *ret_rate)
{
    char text[512];
    unsigned own = 0;

    *ret_rate = 0;
    if (item(camera, "format", "YUYV", index, text)) {
        *ret_fourcc = fourcc(text);
        sscanf(text + 4, "@%u", ret_rate);
        return true;
    }
    while (item(camera, "format", "YUYV", own, text))
        own++;
    *ret_fourcc = V4L2_PIX_FMT_YUV420;
    return camera->converting && index == own;
}

static unsigned own_rate(const struct fake_camera *camera, uint32_t wanted)
{
    uint32_t code;
    unsigned rate;

    for (unsigned i = 0; fake_format_at(camera, i, &code, &rate); i++) {
        if (code == wanted)
            return rate;
    }
    return 0;
}

static void describe_sizes(struct fake_camera *camera)
{
    struct v4l2_pix_format *pix = &camera->pix;
    uint32_t full = pix->width * pix->height;
    struct fake_mosaic mosaic;

    pix->bytesperline = pix->width + fake_option_number(camera, "stride", 0);
    pix->sizeimage = pix->bytesperline * pix->height * 3 / 2;
    if (fake_mosaic(pix->pixelformat, &mosaic)) {
        pix->bytesperline += fake_mosaic_bytes(&mosaic, pix->width) - pix->width;
        pix->sizeimage = pix->bytesperline * pix->height;
    }
    switch (pix->pixelformat) {
    case V4L2_PIX_FMT_YUYV:
    case V4L2_PIX_FMT_UYVY:
        pix->bytesperline += pix->width;
        pix->sizeimage = pix->bytesperline * pix->height;
        break;
    case V4L2_PIX_FMT_RGB24:
    case V4L2_PIX_FMT_BGR24:
        pix->bytesperline += 2 * pix->width;
        pix->sizeimage = pix->bytesperline * pix->height;
        break;
    case V4L2_PIX_FMT_XBGR32:
        pix->bytesperline += 3 * pix->width;
        pix->sizeimage = pix->bytesperline * pix->height;
        break;
    case V4L2_PIX_FMT_GREY:
        pix->sizeimage = pix->bytesperline * pix->height;
        break;
    case V4L2_PIX_FMT_MJPEG:
        pix->bytesperline = 0;
        pix->sizeimage = full * 2 + 65536;
    }
    if (fake_option_is(camera, "lie", "size"))
        pix->sizeimage /= 2;
    else if (fake_option_is(camera, "lie", "stride"))
        pix->bytesperline = 8;
    else if (fake_option_is(camera, "lie", "zero"))
        pix->width = 0;
}

int fake_set_format(struct fake_camera *camera, struct v4l2_pix_format *pix)
{
    uint32_t code, first, min[2], max[2], step[2];
    unsigned rate;
    char text[512];

    if (fake_option_is(camera, "busy", "format") || camera->count > 0)
        return fake_refuse(EBUSY);
    fake_format_at(camera, 0, &first, &rate);
    for (unsigned i = 0; fake_format_at(camera, i, &code, &rate) && code != pix->pixelformat; i++) {
    }
    camera->pix = (struct v4l2_pix_format){.width = pix->width, .height = pix->height};
    camera->pix.pixelformat = code == pix->pixelformat ? code : first;
    camera->pix.field = fake_option_number(camera, "field", V4L2_FIELD_NONE);
    camera->pix.colorspace = V4L2_COLORSPACE_SRGB;
    camera->pix.quantization =
        fake_option_is(camera, "range", "full")      ? V4L2_QUANTIZATION_FULL_RANGE
        : fake_option_is(camera, "range", "limited") ? V4L2_QUANTIZATION_LIM_RANGE
                                                     : 0;
    fake_option(camera->spec, "colour", text);
    sscanf(text, "%u,%u,%u", &camera->pix.colorspace, &camera->pix.ycbcr_enc,
           &camera->pix.xfer_func);
    item(camera, "size", "640x480", 0, text);
    if (sscanf(text, "%ux%u-%ux%u/%ux%u", &min[0], &min[1], &max[0], &max[1], &step[0], &step[1]) <
        6) {
        sscanf(text, "%ux%u", &camera->pix.width, &camera->pix.height);
        for (unsigned i = 0; item(camera, "size", "640x480", i, text); i++) {
            sscanf(text, "%ux%u", &max[0], &max[1]);
            if (max[0] == pix->width && max[1] == pix->height) {
                camera->pix.width = max[0];
                camera->pix.height = max[1];
            }
        }
    }
    if (camera->taken_width) {
        camera->pix.width = camera->taken_width;
        camera->pix.height = camera->taken_height;
    }
    describe_sizes(camera);
    *pix = camera->pix;
    return 0;
}

int fake_enumerate_size(const struct fake_camera *camera, struct v4l2_frmsizeenum *query)
{
    struct v4l2_frmsize_stepwise *range = &query->stepwise;
    char text[512];

    if (!item(camera, "size", "640x480", query->index, text))
        return fake_refuse(EINVAL);
    if (sscanf(text, "%ux%u-%ux%u/%ux%u", &range->min_width, &range->min_height, &range->max_width,
               &range->max_height, &range->step_width, &range->step_height) == 6) {
        query->type = V4L2_FRMSIZE_TYPE_STEPWISE;
        return 0;
    }
    query->type = V4L2_FRMSIZE_TYPE_DISCRETE;
    sscanf(text, "%ux%u", &query->discrete.width, &query->discrete.height);
    return 0;
}

int fake_enumerate_interval(const struct fake_camera *camera, struct v4l2_frmivalenum *query)
{
    unsigned own = own_rate(camera, query->pixel_format);
    char text[512];

    if (own > 0 ? query->index > 0 : !item(camera, "fps", "30", query->index, text))
        return fake_refuse(EINVAL);
    query->type = V4L2_FRMIVAL_TYPE_DISCRETE;
    query->discrete = (struct v4l2_fract){1, own > 0 ? own : (uint32_t)atoi(text)};
    return 0;
}

int fake_set_rate(struct fake_camera *camera, struct v4l2_fract *interval)
{
    unsigned own = own_rate(camera, camera->pix.pixelformat);
    char text[512];

    item(camera, "fps", "30", 0, text);
    camera->interval = (struct v4l2_fract){1, own > 0 ? own : (uint32_t)atoi(text)};
    for (unsigned i = 0; own == 0 && item(camera, "fps", "30", i, text); i++) {
        if ((uint32_t)atoi(text) * interval->numerator == interval->denominator)
            camera->interval.denominator = (uint32_t)atoi(text);
    }
    *interval = camera->interval;
    return 0;
}
