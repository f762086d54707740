// Camera controls by the names `v4l2-ctl -l` prints: "exposure_time_absolute".
#pragma once

#include "capture/v4l2/v4l2_device.h"
#include "config/config.h"

// Sets `controls` in their order (a camera wants auto_exposure off before exposure_time_absolute).
// All are checked before the first is set. -EINVAL with a sentence: unknown name (lists the
// device's controls), value out of range (says the range), read-only, refused by the driver
// (as one under automatic control may be); -ENODEV when the device is gone.
int v4l2_controls_apply(const struct v4l2_device *device, const struct config_control *controls,
                        size_t count, struct error *error);

// Has the camera mirror its pictures as `flip` says, by V4L2_CID_HFLIP and V4L2_CID_VFLIP, or not
// at all for CONFIG_FLIP_NONE. False, with both off again: it cannot, as no camera can for a
// quarter turn.
bool v4l2_controls_flip(const struct v4l2_device *device, enum config_flip flip);
