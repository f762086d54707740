#include "daemon/front/camera_state.h"

#include "daemon/log.h"

const char *camera_state_name(uint32_t state)
{
    static const char *const names[LINK_CAMERA_STATE_COUNT] = {
        [LINK_CAMERA_STARTING] = "starting",
        [LINK_CAMERA_LIVE] = "live",
        [LINK_CAMERA_NO_SIGNAL] = "no signal",
    };

    return names[state];
}

void camera_state_log_change(const char *name, const struct link_telemetry *before,
                             const struct link_telemetry *telemetry)
{
    const char *state = camera_state_name(telemetry->state);

    if (before && before->state == telemetry->state) {
        return;
    }
    if (telemetry->state == LINK_CAMERA_LIVE) {
        log_write(LOG_NOTICE, LOG_EVENT_CAMERA_STATE, name, state, "live");
    } else if (telemetry->state == LINK_CAMERA_NO_SIGNAL) {
        log_write(LOG_WARNING, LOG_EVENT_CAMERA_STATE, name, state,
                  "no signal: %s, showing NO SIGNAL and trying again", telemetry->error);
    }
}
