// What a camera process says about its camera, in words.
#pragma once

#include "daemon/link/messages.h"

// "starting", "live", "no signal"; `state` is below LINK_CAMERA_STATE_COUNT.
const char *camera_state_name(uint32_t state);
// Logs the state of the camera `name` if it is another than `before` (NULL: the first telemetry of
// a process). The camera process itself logs the memory path.
void camera_state_log_change(const char *name, const struct link_telemetry *before,
                             const struct link_telemetry *telemetry);
