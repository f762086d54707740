// What a camera process says about its camera, in words.
#pragma once

#include "daemon/link/messages.h"

// "starting", "live", "no signal", "hanging"; `state` is below LINK_CAMERA_STATE_COUNT.
const char *camera_state_name(uint32_t state);
