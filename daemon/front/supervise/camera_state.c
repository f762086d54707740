#include "daemon/front/supervise/camera_state.h"

const char *camera_state_name(uint32_t state)
{
    static const char *const names[LINK_CAMERA_STATE_COUNT] = {
        [LINK_CAMERA_STARTING] = "starting",   [LINK_CAMERA_LIVE] = "live",
        [LINK_CAMERA_NO_SIGNAL] = "no signal", [LINK_CAMERA_SILENT] = "no signal",
        [LINK_CAMERA_HANGING] = "hanging",
    };

    return names[state];
}
