#include "daemon/front/events/motion.h"

#include "config/base.h"
#include "daemon/common/json.h"
#include "daemon/common/log.h"
#include "daemon/front/events/clip_json.h"

#include <inttypes.h>
#include <stdio.h>

const char *motion_kind_name(enum motion_kind kind)
{
    static const char *const names[MOTION_KIND_COUNT] = {
        [MOTION_STARTED] = "motion_started",
        [MOTION_ENDED] = "motion_ended",
    };

    return names[kind];
}

static const struct reason {
    const char *name, *clause; // the clause ends the sentence in the log
} reasons[MOTION_REASON_COUNT] = {
    [MOTION_STILL] = {"still", ""},
    [MOTION_NO_SIGNAL] = {"no-signal", ", because the camera has no signal"},
    [MOTION_PROCESS_ENDED] = {"process-ended", ", because the camera process ended"},
    [MOTION_LOST] = {"lost", ", but the camera process did not report when"},
    [MOTION_RECONFIGURED] = {"reconfigured", ", because of another configuration"},
    [MOTION_STOPPING] = {"stopping", ", because edged stops"},
};

const char *motion_reason_name(enum motion_reason reason)
{
    return reasons[reason].name;
}

static double duration_s(const struct motion_event *event)
{
    return (double)(event->at_ns - event->started_ns) / (double)NS_PER_S;
}

void motion_add_box(JsonBuilder *builder, const struct link_box *box)
{
    json_begin_object(builder, "box");
    json_add_integer(builder, "x", box->x);
    json_add_integer(builder, "y", box->y);
    json_add_integer(builder, "width", box->width);
    json_add_integer(builder, "height", box->height);
    json_builder_end_object(builder);
}

void motion_add_members(JsonBuilder *builder, const struct motion_event *event)
{
    json_add_string(builder, "event", motion_kind_name(event->kind));
    json_add_string(builder, "camera", event->camera);
    json_add_string(builder, "region", event->region);
    json_add_integer(builder, "number", (int64_t)event->number);
    json_add_time(builder, "time", event->wall_ns);
    json_add_integer(builder, "time_ns", event->wall_ns);
    json_add_time(builder, "started", event->wall_ns - (event->at_ns - event->started_ns));
    json_add_number(builder, "share", event->share);
    json_add_number(builder, "peak", event->peak);
    motion_add_box(builder, &event->box);
    clip_add_address(builder, "clip", event->clip, "mp4");
    if (event->kind == MOTION_ENDED) {
        json_add_number(builder, "duration_s", duration_s(event));
        json_add_string(builder, "reason", motion_reason_name(event->reason));
    }
}

char *motion_json(const struct motion_event *event)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();

    json_builder_begin_object(builder);
    motion_add_members(builder, event);
    json_builder_end_object(builder);
    return json_built_text(builder, false);
}

static void log_started(const struct motion_event *event, const struct log_field *fields,
                        size_t count)
{
    log_write_fields(LOG_INFO, LOG_EVENT_MOTION_STARTED, event->camera, "moving", fields, count,
                     "motion in %s began: %.1f%% of it, %ux%u pixels at %u,%u (event %" PRIu64 ")",
                     event->region, event->share * 100, event->box.width, event->box.height,
                     event->box.x, event->box.y, event->number);
}

static void log_ended(const struct motion_event *event, const struct log_field *fields,
                      size_t count)
{
    log_write_fields(LOG_INFO, LOG_EVENT_MOTION_ENDED, event->camera,
                     motion_reason_name(event->reason), fields, count,
                     "motion in %s ended after %.1f s, at most %.1f%% of it (event %" PRIu64 ")%s",
                     event->region, duration_s(event), event->peak * 100, event->number,
                     reasons[event->reason].clause);
}

void motion_log(const struct motion_event *event)
{
    char number[24], share[24], peak[24], box[64], duration[32];
    const struct log_field fields[] = {
        {"EDGED_REGION", event->region},
        {"EDGED_EVENT", number},
        {"EDGED_SHARE", share},
        {"EDGED_PEAK", peak},
        {"EDGED_BOX", box},
        {"EDGED_DURATION_S", duration},
    };

    snprintf(number, sizeof number, "%" PRIu64, event->number);
    snprintf(share, sizeof share, "%.6f", event->share);
    snprintf(peak, sizeof peak, "%.6f", event->peak);
    snprintf(box, sizeof box, "%u,%u,%u,%u", event->box.x, event->box.y, event->box.width,
             event->box.height);
    snprintf(duration, sizeof duration, "%.3f", duration_s(event));
    if (event->kind == MOTION_STARTED) {
        log_started(event, fields, ARRAY_LENGTH(fields) - 1); // only an end has a duration
    } else {
        log_ended(event, fields, ARRAY_LENGTH(fields));
    }
}
