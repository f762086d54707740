#include "daemon/front/model/inverse.h"

#include "config/schema/schema.h"
#include "daemon/common/json.h"

#include <stdlib.h>

struct inverse {
    JsonObject *patch; // owned
    const struct config_overrides *set;
    const struct config *before, *after;
};

// Puts a value at a path, unless something in front of it is null already. Takes over `value`.
static void put(JsonObject *object, const char *path, JsonNode *value)
{
    g_auto(GStrv) parts = g_strsplit(path, ".", -1);
    char **part = parts;

    for (; part[1]; part++) {
        JsonNode *inner = json_object_get_member(object, *part);

        if (!inner)
            json_object_set_object_member(object, *part, json_object_new());
        else if (!JSON_NODE_HOLDS_OBJECT(inner))
            break;
        object = json_object_get_object_member(object, *part);
    }
    if (part[1])
        json_node_unref(value);
    else
        json_object_set_member(object, *part, value);
}

static JsonNode *value_at(const struct config *config, const char *path)
{
    _cleanup_(cleanup_free) char *text = config_json_at(config, path);
    JsonNode *value = text ? json_from_string(text, NULL) : NULL;

    return value ? value : json_node_new(JSON_NODE_NULL);
}

// Leaves what can only be changed in the file.
static void keep_remote(const struct schema_group *group, JsonObject *object)
{
    for (size_t i = 0; i < group->key_count; i++) {
        if (!group->keys[i].remote && json_object_has_member(object, group->keys[i].name))
            json_object_remove_member(object, group->keys[i].name);
    }
}

static void put_element(const struct inverse *inverse, const struct config_place *place,
                        const char *path)
{
    JsonNode *value = value_at(inverse->before, path);

    if (JSON_NODE_HOLDS_OBJECT(value))
        keep_remote(place->key->group, json_node_get_object(value));
    put(inverse->patch, path, value);
}

// The elements of a list that one of both has, each as one.
static void put_list(const struct inverse *inverse, const struct config_place *place,
                     const char *path, const struct config *has)
{
    g_autoptr(JsonNode) list = value_at(has, path);
    g_autoptr(GList) names =
        JSON_NODE_HOLDS_OBJECT(list) ? json_object_get_members(json_node_get_object(list)) : NULL;

    for (const GList *at = names; at; at = at->next) {
        g_autofree char *element = g_strconcat(path, ".", (const char *)at->data, NULL);

        put_element(inverse, place, element);
    }
}

// The path of the element on the way to a place that `before` does not have. NULL: it has all. The
// caller g_free()s it.
static char *missing_element(const struct inverse *inverse, const char *path)
{
    for (const char *dot = strchr(path, '.'); dot; dot = strchr(dot + 1, '.')) {
        g_autofree char *outer = g_strndup(path, (gsize)(dot - path));
        struct config_place place;

        if (config_find(inverse->before, outer, NULL, &place) == 0 && place.element &&
            !place.object) {
            return TAKE(outer);
        }
    }
    return NULL;
}

static void put_path(const struct inverse *inverse, const char *path)
{
    g_autofree char *missing = missing_element(inverse, path);
    struct config_place place;

    if (missing) {
        put(inverse->patch, missing, json_node_new(JSON_NODE_NULL));
    } else if (config_find(inverse->before, path, NULL, &place) < 0) {
        return;
    } else if (place.element) {
        put_element(inverse, &place, path);
    } else if (place.key->type == SCHEMA_LIST) {
        put_list(inverse, &place, path, inverse->after);
        put_list(inverse, &place, path, inverse->before);
    } else {
        put(inverse->patch, path,
            config_overrides_find(inverse->set, path) ? value_at(inverse->before, path)
                                                      : json_node_new(JSON_NODE_NULL));
    }
}

static void put_changed(const struct inverse *inverse, const struct config_overrides *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *path = list->list[i].path;
        _cleanup_(cleanup_free) char *old = config_json_at(inverse->before, path);
        _cleanup_(cleanup_free) char *new = config_json_at(inverse->after, path);

        if (g_strcmp0(old, new) != 0)
            put_path(inverse, path);
    }
}

char *inverse_of_change(const struct config_overrides *set, const struct config *before,
                        const struct config *after, const struct config_overrides *asked,
                        const struct config_overrides *resets)
{
    const struct inverse inverse = {json_object_new(), set, before, after};
    g_autoptr(JsonNode) root = json_node_new(JSON_NODE_OBJECT);

    json_node_take_object(root, inverse.patch);
    put_changed(&inverse, asked);
    put_changed(&inverse, resets);
    return json_text(root, false);
}
