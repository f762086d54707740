#include "capture/v4l2/v4l2_controls.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

// A driver that never ends its list is cut off here.
#define CONTROLS_MAX 256
#define NAME_SIZE 32

// Spells a control's title as v4l2-ctl does: letters and digits in lower case, everything between
// them one underscore.
static void name_from_title(char name[static NAME_SIZE], const uint8_t *title, size_t size)
{
    size_t length = 0;
    bool gap = false;

    for (size_t i = 0; i < size && title[i]; i++) {
        if (!isalnum(title[i])) {
            gap = length > 0;
            continue;
        }
        if (gap && length + 1 < NAME_SIZE)
            name[length++] = '_';
        if (length + 1 < NAME_SIZE)
            name[length++] = (char)tolower(title[i]);
        gap = false;
    }
    name[length] = '\0';
}

// Steps to the next control that can be set through its id. False after the last.
static bool next_control(const struct v4l2_device *device, struct v4l2_queryctrl *query,
                         char name[static NAME_SIZE])
{
    for (int i = 0; i < CONTROLS_MAX; i++) {
        uint32_t id = query->id;

        query->id |= V4L2_CTRL_FLAG_NEXT_CTRL;
        if (v4l2_device_ioctl(device, VIDIOC_QUERYCTRL, query) < 0 || query->id <= id)
            return false;
        if (query->type != V4L2_CTRL_TYPE_CTRL_CLASS && !(query->flags & V4L2_CTRL_FLAG_DISABLED)) {
            name_from_title(name, query->name, sizeof query->name);
            return true;
        }
    }
    return false;
}

static int unknown_control(const struct v4l2_device *device, const char *wanted,
                           struct error *error)
{
    struct v4l2_queryctrl query = {0};
    char name[NAME_SIZE], names[384] = "";
    size_t length = 0;

    for (int i = 0; i < CONTROLS_MAX && next_control(device, &query, name); i++) {
        length = strlen(names);
        snprintf(names + length, sizeof names - length, "%s%s", length > 0 ? ", " : "", name);
    }
    return error_set(error, -EINVAL, "%s has no control %s; it has %s", device->path, wanted,
                     names[0] ? names : "none");
}

static int find_control(const struct v4l2_device *device, const struct config_control *control,
                        struct error *error, struct v4l2_queryctrl *ret_query)
{
    struct v4l2_queryctrl query = {0};
    char name[NAME_SIZE];

    for (int i = 0; i < CONTROLS_MAX && next_control(device, &query, name); i++) {
        if (strcmp(name, control->name) != 0)
            continue;
        if (query.flags & V4L2_CTRL_FLAG_READ_ONLY)
            return error_set(error, -EINVAL, "%s: control %s is read-only", device->path, name);
        if (query.type != V4L2_CTRL_TYPE_BITMASK && query.type != V4L2_CTRL_TYPE_BUTTON &&
            (control->value < query.minimum || control->value > query.maximum)) {
            return error_set(error, -EINVAL, "%s: control %s = %d is out of range %d..%d",
                             device->path, name, control->value, query.minimum, query.maximum);
        }
        *ret_query = query;
        return 0;
    }
    return unknown_control(device, control->name, error);
}

static int set_control(const struct v4l2_device *device, const struct config_control *control,
                       uint32_t id, struct error *error)
{
    struct v4l2_control set = {.id = id, .value = control->value};
    int r = v4l2_device_ioctl(device, VIDIOC_S_CTRL, &set);

    if (r == -ENODEV)
        return v4l2_device_failed(device, r, "set a control", error);
    if (r < 0) {
        return error_set(error, -EINVAL, "%s: the driver refuses control %s = %d: %s", device->path,
                         control->name, control->value, strerror(-r));
    }
    return 0;
}

int v4l2_controls_apply(const struct v4l2_device *device, const struct config_control *controls,
                        size_t count, struct error *error)
{
    for (unsigned pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < count; i++) {
            struct v4l2_queryctrl query = {0};
            int r = find_control(device, &controls[i], error, &query);

            if (r == 0 && pass == 1)
                r = set_control(device, &controls[i], query.id, error);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

// A camera that lacks the control does not mirror, nor does one that only says that it does.
static bool set_mirror(const struct v4l2_device *device, uint32_t id, bool on)
{
    struct v4l2_control set = {.id = id, .value = on}, get = {.id = id};
    bool taken = v4l2_device_ioctl(device, VIDIOC_S_CTRL, &set) == 0 &&
                 v4l2_device_ioctl(device, VIDIOC_G_CTRL, &get) == 0 && get.value == on;

    return taken || !on;
}

bool v4l2_controls_flip(const struct v4l2_device *device, enum config_flip flip)
{
    bool both = flip == CONFIG_FLIP_ROTATE_180;

    if (!config_flip_is_quarter(flip) &&
        set_mirror(device, V4L2_CID_HFLIP, both || flip == CONFIG_FLIP_HORIZONTAL) &&
        set_mirror(device, V4L2_CID_VFLIP, both || flip == CONFIG_FLIP_VERTICAL)) {
        return true;
    }
    set_mirror(device, V4L2_CID_HFLIP, false);
    set_mirror(device, V4L2_CID_VFLIP, false);
    return false;
}
