#include "daemon/mqtt/settings.h"

#include "daemon/client/client.h"
#include "daemon/common/json.h"

#include <string.h>

struct settings_walk {
    setting_taker *take;
    void *context;
};

char *setting_text(JsonNode *value)
{
    if (JSON_NODE_HOLDS_VALUE(value) && json_node_get_value_type(value) == G_TYPE_STRING)
        return g_strdup(json_node_get_string(value));
    if (JSON_NODE_HOLDS_VALUE(value) && json_node_get_value_type(value) == G_TYPE_BOOLEAN)
        return g_strdup(json_node_get_boolean(value) ? "ON" : "OFF");
    return json_text(value, false);
}

// A threshold is a number or "otsu": as long as it is a number, that is what can be set.
static JsonObject *type_of(JsonObject *key)
{
    JsonNode *any = json_object_get_member(key, "anyOf");

    return any && JSON_NODE_HOLDS_ARRAY(any)
               ? json_array_get_object_element(json_node_get_array(any), 0)
               : key;
}

// False: no setting of this kind.
static bool find_kind(struct setting *setting)
{
    const char *type = get_string(setting->type, "type");
    bool is_text = json_node_get_value_type(setting->value) == G_TYPE_STRING;

    if (json_object_has_member(setting->type, "enum"))
        setting->kind = SETTING_SELECT;
    else if (strcmp(type, "boolean") == 0)
        setting->kind = SETTING_SWITCH;
    else if ((strcmp(type, "integer") == 0 || strcmp(type, "number") == 0) && !is_text)
        setting->kind = SETTING_NUMBER;
    else if (strcmp(type, "string") == 0)
        setting->kind = SETTING_TEXT;
    else
        return false;
    return true;
}

static void take_value(const struct settings_walk *walk, const char *path, JsonObject *key,
                       JsonNode *value)
{
    struct setting setting = {.path = path, .type = type_of(key), .value = value};

    if (JSON_NODE_HOLDS_VALUE(value) && get_boolean(key, "x-remote") &&
        strcmp(get_string(key, "x-cost"), "frame") == 0 && find_kind(&setting)) {
        walk->take(walk->context, &setting);
    }
}

static void walk_object(const struct settings_walk *walk, JsonObject *schema, JsonObject *values,
                        const char *path)
{
    g_autoptr(GList) names = json_object_get_members(values);

    for (const GList *link = names; link; link = link->next) {
        const char *name = link->data;
        JsonNode *value = json_object_get_member(values, name);
        JsonObject *key = get_object(get_object(schema, "properties"), name);
        g_autofree char *own = g_strconcat(path, *path ? "/" : "", name, NULL);

        key = key ? key : get_object(schema, "additionalProperties");
        if (key && JSON_NODE_HOLDS_OBJECT(value))
            walk_object(walk, key, json_node_get_object(value), own);
        else if (key)
            take_value(walk, own, key, value);
    }
}

JsonObject *settings_of(const struct edged_state *edged, const char *camera)
{
    return get_object(get_object(edged->config, "cameras"), camera);
}

void settings_each(const struct edged_state *edged, const char *camera, setting_taker *take,
                   void *context)
{
    const struct settings_walk walk = {take, context};
    JsonObject *cameras = get_object(get_object(edged->schema, "properties"), "cameras");
    JsonObject *schema = get_object(cameras, "additionalProperties");
    JsonObject *values = settings_of(edged, camera);

    if (schema && values)
        walk_object(&walk, schema, values, "");
}
