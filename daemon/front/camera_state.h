// What a camera process says about its camera, in words.
#pragma once

#include "daemon/link/messages.h"

// "starting", "live", "no signal"; `state` is below LINK_CAMERA_STATE_COUNT.
const char *camera_state_name(uint32_t state);
// Logs where `telemetry` of the camera `name` has changed since `before` (NULL: the first one of
// a process): the state, or the memory path while live.
void camera_state_log_change(const char *name, const struct link_telemetry *before,
                             const struct link_telemetry *telemetry);
