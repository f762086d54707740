// What the lane says of the way of a frame.
#include "daemon/camera/lane_private.h"
#include "daemon/common/log.h"

#include <stdio.h>
#include <string.h>

void lane_describe_path(struct lane *lane, char *ret_path, size_t size)
{
    const struct source *source = lane->source;
    const struct channel *first = lane->environment.channels->settings->channels[0];
    uint64_t frames = source->counters.frames;
    uint64_t copies = copies_total(lane->environment.copies) - lane->source_copies;
    char steps[64], per_frame[32];

    lane_describe_picture(lane, steps, sizeof steps);
    snprintf(per_frame, sizeof per_frame, "%.3g", frames ? (double)copies / (double)frames : 0.0);
    snprintf(ret_path, size, "%s: %s -> %s%s -> %s%s -> %s, %s cop%s a frame",
             lane->environment.camera->name, source->mode.description,
             source->mode.surfaces ? "nvmm" : lane->means.allocator->kind, steps,
             channel_backend(first), channel_memory(first), channel_encoder_name(first), per_frame,
             strcmp(per_frame, "1") == 0 ? "y" : "ies");
    report_set_path(lane->environment.report, &lane->layout, ret_path);
}

void lane_tell_surfaces(const struct lane *lane)
{
    const struct source *source = lane->source;

    if (source->surfaces_missed.text[0]) {
        log_write(LOG_NOTICE, LOG_EVENT_NONE, lane->environment.camera->name, NULL,
                  "the camera's surfaces cannot be used: %s, using %s memory",
                  source->surfaces_missed.text,
                  source->mode.surfaces ? "other nvmm" : lane->means.allocator->kind);
    }
}
