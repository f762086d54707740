// The settings of cameras that a broker is shown: the keys of GET /v1/config that the network may
// change and whose change costs a frame, by the schema that edged itself tells. So a new key of
// edged needs nothing here.
#pragma once

#include <json-glib/json-glib.h>
#include <stdbool.h>

// The running edged, as it told of itself; all borrowed.
struct edged_state {
    const char *id;     // of this machine, in topics and in the names of devices
    const char *topic;  // what topics begin with: "edged/jetson-3f2a"
    JsonObject *schema; // GET /v1/config/schema
    JsonObject *config; // GET /v1/config
    JsonObject *status; // GET /v1/status
};

enum setting_kind { SETTING_SELECT, SETTING_SWITCH, SETTING_NUMBER, SETTING_TEXT };

struct setting {
    enum setting_kind kind;
    const char *path; // below the camera, with slashes: "views/edges/gain"
    JsonObject *type; // of the value, in the schema: enum, minimum, …
    JsonNode *value;
};

typedef void setting_taker(void *context, const struct setting *setting);

// Calls `take` for each setting of a camera, in the order of the configuration.
void settings_each(const struct edged_state *edged, const char *camera, setting_taker *take,
                   void *context);
// A value as a broker is told it: ON and OFF for truths, else the text or number. The caller
// g_free()s it.
char *setting_text(JsonNode *value);
// The settings of that camera, by its name; NULL: there is none.
JsonObject *settings_of(const struct edged_state *edged, const char *camera);
