#include "capture/v4l2/v4l2_device.h"

#include <errno.h>
#include <fcntl.h>
#include <libv4l2.h>
#include <stdio.h>
#include <string.h>

#define CAPTURE_CAPS (V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_VIDEO_CAPTURE_MPLANE)

static uint32_t device_caps(const struct v4l2_capability *capability)
{
    return capability->capabilities & V4L2_CAP_DEVICE_CAPS ? capability->device_caps
                                                           : capability->capabilities;
}

int v4l2_device_ioctl(const struct v4l2_device *device, unsigned long request, void *argument)
{
    int r;

    do {
        r = v4l2_ioctl(device->fd, request, argument);
    } while (r < 0 && errno == EINTR);
    return r < 0 ? -errno : 0;
}

// Appends "/dev/video0 (Name)" when a capture device answers there.
static void append_capture_device(char *text, size_t size, const char *path)
{
    struct v4l2_capability capability = {0};
    size_t length = strlen(text);
    int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return;
    if (v4l2_ioctl(fd, VIDIOC_QUERYCAP, &capability) == 0 &&
        device_caps(&capability) & CAPTURE_CAPS) {
        snprintf(text + length, size - length, "%s%s (%.32s)", length > 0 ? ", " : "", path,
                 (const char *)capability.card);
    }
    v4l2_close(fd);
}

void v4l2_device_list(char *text, size_t size)
{
    text[0] = '\0';
    for (int i = 0; i < V4L2_DEVICES; i++) {
        char path[32];

        snprintf(path, sizeof path, "/dev/video%d", i);
        append_capture_device(text, size, path);
    }
    if (text[0] == '\0')
        snprintf(text, size, "none");
}

static int open_failed(const char *path, int code, struct error *error)
{
    switch (code) {
    case -ENOENT:
        return error_set(error, code, "%s does not exist", path);
    case -EACCES:
    case -EPERM:
        return error_set(error, -EACCES, "no permission for %s: add the user to group video", path);
    case -EBUSY:
        return error_set(error, code, "%s is busy: another program streams from it", path);
    case -ENODEV:
    case -ENXIO:
        return error_set(error, -ENODEV, "%s has no device behind it", path);
    case -ENOTTY:
    case -EINVAL:
    case -EISDIR:
    case -ENOTDIR:
        return error_set(error, -EINVAL, "%s is not a capture device", path);
    default:
        return error_set(error, code, "cannot open %s: %s", path, strerror(-code));
    }
}

static int check_capabilities(const struct v4l2_device *device, struct error *error)
{
    struct v4l2_capability capability = {0};
    int r = v4l2_device_ioctl(device, VIDIOC_QUERYCAP, &capability);
    uint32_t caps = device_caps(&capability);

    if (r < 0)
        return open_failed(device->path, r, error);
    if (!(caps & CAPTURE_CAPS)) {
        return error_set(error, -EINVAL, "%s is not a capture device (%.32s)", device->path,
                         (const char *)capability.card);
    }
    if (!(caps & V4L2_CAP_VIDEO_CAPTURE)) {
        return error_set(error, -ENOTSUP,
                         "%s is a multi-planar device and libv4l2's plugin for those "
                         "(libv4l-mplane.so) is missing",
                         device->path);
    }
    if (!(caps & V4L2_CAP_STREAMING))
        return error_set(error, -ENOTSUP, "%s cannot stream, only read()", device->path);
    return 0;
}

// libv4l2 converts, and its plugin speaks for multi-planar devices. It is kept away from others: a
// Jetson's has a plugin that takes the nodes of sensors for cameras of its own.
static bool needs_library(const struct v4l2_capability *capability, bool converting)
{
    return converting || !(device_caps(capability) & V4L2_CAP_VIDEO_CAPTURE);
}

int v4l2_device_open(const char *path, bool converting, struct error *error,
                     struct v4l2_device *ret_device)
{
    _cleanup_(v4l2_device_close) struct v4l2_device device = {.fd = -1, .converting = converting};
    _cleanup_(cleanup_close) int fd = -1;
    struct v4l2_capability capability;
    int r;

    r = snprintf(device.path, sizeof device.path, "%s", path);
    if ((size_t)r >= sizeof device.path) {
        return error_set(error, -EINVAL, "the device path is longer than %zu bytes",
                         sizeof device.path - 1);
    }
    fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    // The kernel is asked, as libv4l2 was not given the descriptor; libv4l2 would write to stderr
    // about what is no V4L2 device.
    if (fd < 0 || v4l2_ioctl(fd, VIDIOC_QUERYCAP, &capability) < 0 ||
        (needs_library(&capability, converting) &&
         v4l2_fd_open(fd, converting ? 0 : V4L2_DISABLE_CONVERSION) < 0)) {
        return open_failed(path, -errno, error);
    }
    device.fd = TAKE_FD(fd);
    r = check_capabilities(&device, error);
    if (r < 0)
        return r;
    *ret_device = device;
    device.fd = -1;
    return 0;
}

void v4l2_device_close(struct v4l2_device *device)
{
    if (device->fd >= 0) {
        v4l2_close(device->fd);
        device->fd = -1;
    }
}

static bool device_is_gone(const struct v4l2_device *device)
{
    struct v4l2_capability capability;

    return v4l2_device_ioctl(device, VIDIOC_QUERYCAP, &capability) == -ENODEV;
}

int v4l2_device_failed(const struct v4l2_device *device, int code, const char *doing,
                       struct error *error)
{
    if (code == -EBUSY || code == -EACCES)
        return open_failed(device->path, code, error);
    if (code == -ENODEV || code == -ENXIO || device_is_gone(device))
        return error_set(error, -ENODEV, "%s is gone (unplugged)", device->path);
    return error_set(error, -EIO, "%s: cannot %s: %s", device->path, doing, strerror(-code));
}
