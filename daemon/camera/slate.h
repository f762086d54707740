// The NO SIGNAL slate: what a viewer sees while there is no camera.
#pragma once

#include "capture/frame.h"

#include <stdint.h>

// Draws into an NV12 frame of any size: dark gray, "NO SIGNAL", the camera's name (letters, digits,
// '-', '_'; others blank) and the time since loss as M:SS (H:MM:SS from an hour on). A negative
// `seconds` leaves the time out.
void slate_draw(struct frame *frame, const char *camera, int64_t seconds);
