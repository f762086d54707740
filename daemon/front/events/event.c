#include "daemon/front/events/event.h"

#include "daemon/common/json.h"
#include "daemon/front/events/clip_json.h"

#include <string.h>

struct event event_of_motion(const struct motion_event *motion)
{
    struct event event = {
        .name = motion_kind_name(motion->kind), .role = motion->role, .wall_ns = motion->wall_ns};

    g_strlcpy(event.camera, motion->camera, sizeof event.camera);
    g_strlcpy(event.region, motion->region, sizeof event.region);
    event.json = motion_json(motion);
    return event;
}

static JsonBuilder *begin(void)
{
    JsonBuilder *builder = json_builder_new();

    json_builder_begin_object(builder);
    return builder;
}

// Adds what each event has. Its name takes the place of a clip's fact "event", the number of the
// motion that began it.
static char *end(JsonBuilder *builder, const struct event *event)
{
    int64_t wall_ns = g_get_real_time() * NS_PER_US;

    json_add_string(builder, "event", event->name);
    json_add_time(builder, "time", wall_ns);
    json_add_integer(builder, "time_ns", wall_ns);
    json_builder_end_object(builder);
    return json_built_text(builder, false);
}

struct event event_of_camera(const char *camera, enum config_role role, const char *state,
                             const char *error)
{
    struct event event = {.name = EVENT_CAMERA_STATE, .role = role};
    g_autoptr(JsonBuilder) builder = begin();

    g_strlcpy(event.camera, camera, sizeof event.camera);
    json_add_string(builder, "camera", camera);
    json_add_string(builder, "state", state);
    json_add_flag(builder, "live", strcmp(state, "live") == 0);
    json_add_string(builder, "error", error);
    event.json = end(builder, &event);
    return event;
}

struct event event_of_clip(const struct record_clip *clip, enum config_role role)
{
    struct event event = {.name = EVENT_CLIP_ENDED, .role = role};
    g_autoptr(JsonBuilder) builder = begin();

    g_strlcpy(event.camera, clip->camera, sizeof event.camera);
    g_strlcpy(event.view, clip->view, sizeof event.view);
    clip_add_members(builder, clip);
    event.json = end(builder, &event);
    return event;
}

struct event event_of_settings(void)
{
    struct event event = {.name = EVENT_SETTINGS_CHANGED, .role = CONFIG_ROLE_OPERATOR};
    g_autoptr(JsonBuilder) builder = begin();

    event.json = end(builder, &event);
    return event;
}

void event_clear(struct event *event)
{
    g_clear_pointer(&event->json, g_free);
}
