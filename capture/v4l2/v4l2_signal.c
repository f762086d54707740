#include "capture/v4l2/v4l2_signal.h"

#include <errno.h>

#define EVENTS_MAX 32 // at once, should a driver have no end of them

static int say_no_signal(const struct v4l2_device *device, int code, struct error *error)
{
    return error_set(error, -EIO, "%s: %s", device->path,
                     code == -ENOLINK  ? "no signal comes into its input"
                     : code == -ENOLCK ? "the signal at its input is not steady"
                                       : "it cannot take the size and rate of the signal at its "
                                         "input");
}

// Without it the device is opened again only when frames fail to come.
static bool subscribe(const struct v4l2_device *device)
{
    struct v4l2_event_subscription subscription = {.type = V4L2_EVENT_SOURCE_CHANGE};
    int input = 0;

    if (v4l2_device_ioctl(device, VIDIOC_G_INPUT, &input) == 0)
        subscription.id = (uint32_t)input;
    return v4l2_device_ioctl(device, VIDIOC_SUBSCRIBE_EVENT, &subscription) == 0;
}

int v4l2_signal_take(const struct v4l2_device *device, struct error *error, bool *ret_tells)
{
    struct v4l2_dv_timings timings = {0};
    int r = v4l2_device_ioctl(device, VIDIOC_QUERY_DV_TIMINGS, &timings);

    if (r == -ENOLINK || r == -ENOLCK || r == -ERANGE)
        return say_no_signal(device, r, error);
    *ret_tells = false;
    // A camera has no such input.
    if (r < 0)
        return 0;
    r = v4l2_device_ioctl(device, VIDIOC_S_DV_TIMINGS, &timings);
    if (r < 0)
        return v4l2_device_failed(device, r, "take the signal at its input", error);
    *ret_tells = subscribe(device);
    return 0;
}

bool v4l2_signal_has_changed(const struct v4l2_device *device)
{
    struct v4l2_event event = {0};
    bool changed = false;

    for (int i = 0; i < EVENTS_MAX && v4l2_device_ioctl(device, VIDIOC_DQEVENT, &event) == 0; i++) {
        changed |= event.type == V4L2_EVENT_SOURCE_CHANGE &&
                   event.u.src_change.changes & V4L2_EVENT_SRC_CH_RESOLUTION;
    }
    return changed;
}
