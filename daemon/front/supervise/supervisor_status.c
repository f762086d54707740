// What the supervisor tells of itself.
#include "daemon/front/supervise/camera_state.h"
#include "daemon/front/supervise/supervisor_private.h"

#include <stdio.h>

bool supervisor_is_settled(const struct supervisor *supervisor)
{
    if (supervisor->state != SUPERVISOR_STARTING && supervisor->state != SUPERVISOR_RUNNING) {
        return supervisor->error.text[0] != 0;
    }
    if (supervisor->state == SUPERVISOR_RUNNING &&
        supervisor->telemetry.configuration != supervisor->number) {
        return false;
    }
    for (size_t i = 0; i < supervisor->stream_count; i++) {
        if (!stream_has_slates(supervisor->streams[i])) {
            return false;
        }
    }
    return true;
}

const char *supervisor_refusal(const struct supervisor *supervisor)
{
    return supervisor->state == SUPERVISOR_RUNNING &&
                   supervisor->telemetry.configuration == supervisor->number
               ? supervisor->telemetry.refusal
               : "";
}

void supervisor_describe(const struct supervisor *supervisor, struct snapshot_camera *camera)
{
    const char *state = supervisor->state == SUPERVISOR_RUNNING
                            ? camera_state_name(supervisor->telemetry.state)
                        : supervisor->state == SUPERVISOR_FAILED ? "failed"
                        : supervisor->state == SUPERVISOR_STARTING && !supervisor->restarts &&
                                !supervisor->gpu_faults
                            ? "starting"
                            : "restarting";

    snprintf(camera->name, sizeof camera->name, "%s", supervisor->name);
    snprintf(camera->state, sizeof camera->state, "%s", state);
    snprintf(camera->error, sizeof camera->error, "%s",
             supervisor->state == SUPERVISOR_RUNNING ? supervisor->telemetry.error
                                                     : supervisor->error.text);
    camera->pid = supervisor->pid;
    camera->process_restarts = supervisor->restarts;
    camera->gpu_faults = supervisor->gpu_faults;
    camera->encoder_hangs = supervisor->encoder_hangs;
    camera->encoders_passed_over = supervisor_encoders_passed_over(supervisor);
    camera->telemetry = supervisor->telemetry;
    camera->frame_age_s =
        supervisor->telemetry.last_frame_ns
            ? (double)(clock_now_ns() - supervisor->telemetry.last_frame_ns) / (double)NS_PER_S
            : -1;
    regions_describe(&supervisor->regions, camera);
    if (supervisor->gpu_error.text[0]) {
        snprintf(camera->telemetry.gpu, sizeof camera->telemetry.gpu, "%.255s",
                 supervisor->gpu_error.text);
    }
}
