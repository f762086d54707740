// An open V4L2 capture device, through libv4l2 where that has to convert, or to speak for a
// multi-planar one by its plugin.
//
// libv4l2 refuses USERPTR on every device it might convert for, so a device is opened raw
// (V4L2_DISABLE_CONVERSION) first and opened again with conversion only when none of its own
// formats will do. Drivers are untrusted: whatever they say is checked by the caller.
#pragma once

#include "config/base.h"

#include <linux/videodev2.h>
#include <stdbool.h>

#define V4L2_DEVICES 64 // that are looked at: /dev/video0 to /dev/video63

struct v4l2_device {
    int fd;          // owned through libv4l2, -1 when closed
    bool converting; // libv4l2 converts: emulated formats, MMAP only
    char path[256];
};

// Opens the capture device at `path`, non-blocking. Errors, each with a sentence that names the
// path: -ENOENT, -EACCES, -EBUSY, -ENODEV (the node has no hardware behind it), -EINVAL (not a
// capture device), -ENOTSUP (a capture device of a kind edged cannot use: multi-planar, or without
// streaming), or what open() says.
int v4l2_device_open(const char *path, bool converting, struct error *error,
                     struct v4l2_device *ret_device);
// Takes a closed device.
void v4l2_device_close(struct v4l2_device *device);

// Writes the capture devices of /dev/video0..63 into `text`: "/dev/video0 (Name), …" or "none".
void v4l2_device_list(char *text, size_t size);

// One ioctl, repeated while signals interrupt it. 0 or a negative errno.
int v4l2_device_ioctl(const struct v4l2_device *device, unsigned long request, void *argument);

// Writes the sentence for an ioctl that failed with `code` while `doing` ("set the format") and
// returns the code the source ends with: -EBUSY, -EACCES, -ENODEV as they are, also -ENODEV for
// any other failure of a device that is gone, -EIO for the rest.
int v4l2_device_failed(const struct v4l2_device *device, int code, const char *doing,
                       struct error *error);
