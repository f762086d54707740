// The signal at the input of a capture card, HDMI say: its size and rate are what another device
// sends, and change when that wants.
#pragma once

#include "capture/v4l2/v4l2_device.h"

// Has the card take the signal as it comes, before a format is settled, and tell when it becomes
// another one. *ret_tells: it does; a camera, which has no such input, does not. -EIO: no signal
// comes, or one that the card does not take; -EBUSY, -ENODEV as v4l2_device_failed().
int v4l2_signal_take(const struct v4l2_device *device, struct error *error, bool *ret_tells);
// After POLLPRI: whether it has become another one, so that the device is to be opened again.
bool v4l2_signal_has_changed(const struct v4l2_device *device);
