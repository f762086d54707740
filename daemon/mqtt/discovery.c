#include "daemon/mqtt/discovery.h"

#include "daemon/client/client.h"
#include "daemon/common/json.h"

#include <stdarg.h>
#include <string.h>

#define RECORD_S "30" // of the button that records

// A message that is being written.
struct message {
    const struct edged_state *edged;
    JsonBuilder *builder;
    const char *camera; // NULL: edged itself
    bool all_settings;
};

static void add_format(JsonBuilder *builder, const char *name, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

static void add_format(JsonBuilder *builder, const char *name, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list list;

    va_start(list, format);
    text = g_strdup_vprintf(format, list);
    va_end(list);
    json_add_string(builder, name, text);
}

static void add_words(JsonBuilder *builder, const char *name, const char *const *words)
{
    json_begin_list(builder, name);
    for (; *words; words++)
        json_builder_add_string_value(builder, *words);
    json_builder_end_array(builder);
}

// The device
// ---------------------------------------------------------------------

static void add_device(const struct message *message)
{
    const struct edged_state *edged = message->edged;
    JsonBuilder *builder = message->builder;
    const char *url = get_string(edged->status, "http");
    g_autofree char *identity = message->camera
                                    ? g_strdup_printf("%s_%s", edged->id, message->camera)
                                    : g_strdup(edged->id);

    json_begin_object(builder, "dev");
    add_words(builder, "ids", (const char *const[]){identity, NULL});
    if (message->camera)
        json_add_string(builder, "name", message->camera);
    else
        add_format(builder, "name", "edged %s", edged->id);
    json_add_string(builder, "mf", "edged");
    json_add_string(builder, "mdl", message->camera ? "camera" : "edged");
    json_add_string(builder, "sw", get_string(edged->status, "version"));
    if (*url)
        json_add_string(builder, "cu", url);
    if (message->camera)
        json_add_string(builder, "via_device", edged->id);
    json_builder_end_object(builder);
    json_begin_object(builder, "o");
    json_add_string(builder, "name", "edged");
    json_add_string(builder, "sw", get_string(edged->status, "version"));
    json_builder_end_object(builder);
    json_add_integer(builder, "qos", 1);
}

// Entities
// ---------------------------------------------------------------------

static void add_availability(const struct message *message, const char *level)
{
    JsonBuilder *builder = message->builder;

    json_builder_begin_object(builder);
    add_format(builder, "t", "%s%s%s/available", message->edged->topic, *level ? "/" : "", level);
    json_add_string(builder, "pl_avail", "online");
    json_add_string(builder, "pl_not_avail", "offline");
    json_builder_end_object(builder);
}

// An entity of that platform. `needs_camera`: it says nothing while the camera has no signal. What
// explains the signal, and settings, must not be hidden then.
static void begin_entity(const struct message *message, const char *key, const char *platform,
                         const char *name, bool needs_camera)
{
    JsonBuilder *builder = message->builder;
    const char *camera = message->camera ? message->camera : "edged";

    json_begin_object(builder, key);
    json_add_string(builder, "p", platform);
    add_format(builder, "unique_id", "%s_%s_%s", message->edged->id, camera, key);
    json_add_string(builder, "name", name);
    json_begin_list(builder, "avty");
    add_availability(message, "");
    if (needs_camera)
        add_availability(message, camera);
    json_builder_end_array(builder);
    json_add_string(builder, "avty_mode", "all");
}

static void end_entity(const struct message *message)
{
    json_builder_end_object(message->builder);
}

// A topic below the camera's.
static void add_topic(const struct message *message, const char *name, const char *level)
{
    add_format(message->builder, name, "%s/%s/%s", message->edged->topic, message->camera, level);
}

static void add_motion(const struct message *message, const char *region)
{
    JsonBuilder *builder = message->builder;
    g_autofree char *key = region ? g_strdup_printf("motion_%s", region) : g_strdup("motion");
    g_autofree char *name = region ? g_strdup_printf("motion %s", region) : g_strdup("motion");
    g_autofree char *topic = region ? g_strdup_printf("%s/motion", region) : g_strdup("motion");

    begin_entity(message, key, "binary_sensor", name, true);
    json_add_string(builder, "dev_cla", "motion");
    add_topic(message, "stat_t", topic);
    if (region) {
        g_autofree char *event = g_strdup_printf("%s/event", region);

        add_topic(message, "json_attr_t", event);
    }
    end_entity(message);
}

static void add_camera_state(const struct message *message)
{
    static const char *const states[] = {"starting",   "live",   "no signal", "hanging",
                                         "restarting", "failed", NULL};
    JsonBuilder *builder = message->builder;

    begin_entity(message, "connected", "binary_sensor", "connected", false);
    json_add_string(builder, "dev_cla", "connectivity");
    json_add_string(builder, "ent_cat", "diagnostic");
    add_topic(message, "stat_t", "live");
    add_topic(message, "json_attr_t", "status");
    end_entity(message);
    begin_entity(message, "state", "sensor", "state", false);
    json_add_string(builder, "dev_cla", "enum");
    json_add_string(builder, "ent_cat", "diagnostic");
    add_topic(message, "stat_t", "state");
    add_words(builder, "ops", states);
    end_entity(message);
}

static void add_events(const struct message *message)
{
    static const char *const types[] = {"motion_started", "motion_ended", "clip_ended", NULL};
    JsonBuilder *builder = message->builder;

    begin_entity(message, "event", "event", "event", false);
    add_topic(message, "stat_t", "event");
    add_words(builder, "evt_typ", types);
    end_entity(message);
    begin_entity(message, "snapshot", "image", "last motion", false);
    add_topic(message, "img_t", "snapshot");
    json_add_string(builder, "cont_type", "image/jpeg");
    end_entity(message);
    begin_entity(message, "record", "button", "record " RECORD_S " s", true);
    add_format(builder, "cmd_t", "%s/set/%s/record", message->edged->topic, message->camera);
    json_add_string(builder, "pl_prs", RECORD_S);
    end_entity(message);
}

// Settings
// ---------------------------------------------------------------------

// Those that a person changes from day to day; the others wait in Home Assistant to be enabled.
static bool is_common(const char *path)
{
    static const char *const keys[] = {"armed", "record/mode", NULL};
    static const char *const ends[] = {"/gain",  "/operator", "/blur", "/threshold",
                                       "/start", "/end",      NULL};
    bool is_end = false;

    for (const char *const *end = ends; *end; end++)
        is_end |= g_str_has_suffix(path, *end);
    return is_end || g_strv_contains(keys, path);
}

// "edges gain" of "views/edges/gain".
static char *name_of(const char *path)
{
    const char *rest = g_str_has_prefix(path, "views/")     ? path + strlen("views/")
                       : g_str_has_prefix(path, "regions/") ? path + strlen("regions/")
                                                            : path;

    return g_strdelimit(g_strdup(rest), "/_", ' ');
}

static void add_range(JsonBuilder *builder, JsonObject *type)
{
    bool is_integer = strcmp(get_string(type, "type"), "integer") == 0;

    json_add_string(builder, "mode", "box");
    json_add_number(builder, "min", get_number(type, "minimum"));
    json_add_number(builder, "max", get_number(type, "maximum"));
    json_add_number(builder, "step", is_integer ? 1 : 0.001);
}

static void add_options(JsonBuilder *builder, JsonArray *words)
{
    json_begin_list(builder, "ops");
    for (guint i = 0; i < json_array_get_length(words); i++) {
        g_autofree char *word = setting_text(json_array_get_element(words, i));

        json_builder_add_string_value(builder, word);
    }
    json_builder_end_array(builder);
}

static void add_setting(void *context, const struct setting *setting)
{
    static const char *const platforms[] = {[SETTING_SELECT] = "select",
                                            [SETTING_SWITCH] = "switch",
                                            [SETTING_NUMBER] = "number",
                                            [SETTING_TEXT] = "text"};
    const struct message *message = context;
    JsonBuilder *builder = message->builder;
    g_autofree char *key = g_strdelimit(g_strdup(setting->path), "/", '_');
    g_autofree char *name = name_of(setting->path);
    bool is_shown = is_common(setting->path);

    if (!is_shown && !message->all_settings)
        return;
    begin_entity(message, key, platforms[setting->kind], name, false);
    add_topic(message, "stat_t", setting->path);
    add_format(builder, "cmd_t", "%s/set/%s/%s", message->edged->topic, message->camera,
               setting->path);
    json_add_string(builder, "ent_cat", "config");
    if (!is_shown)
        json_add_flag(builder, "en", false);
    if (setting->kind == SETTING_NUMBER)
        add_range(builder, setting->type);
    if (setting->kind == SETTING_SELECT)
        add_options(builder, json_object_get_array_member(setting->type, "enum"));
    end_entity(message);
}

// Messages
// ---------------------------------------------------------------------

static void add_regions(const struct message *message)
{
    JsonObject *regions = get_object(settings_of(message->edged, message->camera), "regions");
    g_autoptr(GList) names = regions ? json_object_get_members(regions) : NULL;

    for (const GList *link = names; link; link = link->next)
        add_motion(message, link->data);
}

static char *write_camera(const struct edged_state *edged, const char *camera, bool all_settings)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();
    struct message message = {edged, builder, camera, all_settings};

    json_builder_begin_object(builder);
    add_device(&message);
    json_begin_object(builder, "cmps");
    add_camera_state(&message);
    add_motion(&message, NULL);
    add_regions(&message);
    add_events(&message);
    settings_each(edged, camera, add_setting, &message);
    json_builder_end_object(builder);
    json_builder_end_object(builder);
    return json_built_text(builder, false);
}

char *discovery_of_camera(const struct edged_state *edged, const char *camera)
{
    char *text = write_camera(edged, camera, true);

    if (strlen(text) > DISCOVERY_BYTES_MAX) {
        g_free(text);
        text = write_camera(edged, camera, false);
    }
    return text;
}

char *discovery_of_edged(const struct edged_state *edged)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();
    const struct message message = {.edged = edged, .builder = builder};

    json_builder_begin_object(builder);
    add_device(&message);
    json_begin_object(builder, "cmps");
    begin_entity(&message, "problem", "binary_sensor", "problem", false);
    json_add_string(builder, "dev_cla", "problem");
    json_add_string(builder, "ent_cat", "diagnostic");
    add_format(builder, "stat_t", "%s/problem", edged->topic);
    end_entity(&message);
    json_builder_end_object(builder);
    json_builder_end_object(builder);
    return json_built_text(builder, false);
}

// A mark is the entity with its platform alone.
static bool mark(JsonObject *entities, const char *key, JsonNode *entity)
{
    const char *platform =
        JSON_NODE_HOLDS_OBJECT(entity) ? get_string(json_node_get_object(entity), "p") : "";
    JsonObject *marked;

    if (json_object_has_member(entities, key) || !*platform)
        return false;
    marked = json_object_new();
    json_object_set_string_member(marked, "p", platform);
    json_object_set_object_member(entities, key, marked);
    return true;
}

char *discovery_with_removed(const char *wanted, const char *old)
{
    g_autoptr(JsonObject) now = NULL, before = NULL;
    bool any = false;

    if (client_parse(wanted, NULL, &now) < 0 || client_parse(old, NULL, &before) < 0)
        return NULL;
    JsonObject *entities = get_object(now, "cmps"), *others = get_object(before, "cmps");
    g_autoptr(GList) names = others ? json_object_get_members(others) : NULL;

    for (const GList *link = names; entities && link; link = link->next)
        any |= mark(entities, link->data, json_object_get_member(others, link->data));
    if (!any)
        return NULL;
    g_autoptr(JsonNode) root = json_node_init_object(json_node_alloc(), now);
    return json_text(root, false);
}
