// One event, as those who follow /v1/events, watch or run a hook hear of it: motion, the state of a
// camera, a clip that has ended, or settings that have changed. Its text is made once, for all of
// them.
#pragma once

#include "config/config.h"
#include "daemon/front/events/motion.h"
#include "daemon/link/record.h"

#define EVENT_CAMERA_STATE "camera_state"
#define EVENT_CLIP_ENDED "clip_ended"
#define EVENT_SETTINGS_CHANGED "settings_changed"

struct event {
    const char *name;            // "motion_started"; static
    char camera[40], region[40]; // "": of none. Only motion has a region
    char view[40];               // of a clip; "": the event is not about one view
    enum config_role role;       // the least that hears of it
    int64_t wall_ns;             // of motion: when, by the clock of day, since 1970
    char *json;                  // one JSON object on one line, documented in edged(8); owned
};

// Each returns an event that the caller passes on or event_clear()s.
struct event event_of_motion(const struct motion_event *motion);
// `state` and `error` as in status, which see; `role` is the least that may watch the camera.
struct event event_of_camera(const char *camera, enum config_role role, const char *state,
                             const char *error);
// A clip whose file is whole; `role` is the least that may watch its view.
struct event event_of_clip(const struct record_clip *clip, enum config_role role);
// The configuration in force is another one now.
struct event event_of_settings(void);
// Frees its text.
void event_clear(struct event *event);
