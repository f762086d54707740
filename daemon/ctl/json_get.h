// Members of JSON objects that edged sent. Those that are missing, because it is of another
// version, show as empty, 0, false or NULL.
#pragma once

#include <json-glib/json-glib.h>
#include <stdbool.h>

static inline const char *get_string(JsonObject *object, const char *name)
{
    JsonNode *node = json_object_get_member(object, name);

    return node && json_node_get_value_type(node) == G_TYPE_STRING ? json_node_get_string(node)
                                                                   : "";
}

static inline double get_number(JsonObject *object, const char *name)
{
    JsonNode *node = json_object_get_member(object, name);

    return node && JSON_NODE_HOLDS_VALUE(node) ? json_node_get_double(node) : 0;
}

static inline JsonObject *get_object(JsonObject *object, const char *name)
{
    JsonNode *node = object ? json_object_get_member(object, name) : NULL;

    return node && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
}

static inline bool get_boolean(JsonObject *object, const char *name)
{
    JsonNode *node = json_object_get_member(object, name);

    return node && json_node_get_value_type(node) == G_TYPE_BOOLEAN && json_node_get_boolean(node);
}

// The objects of an array member; the caller g_list_free()s the list.
static inline GList *get_list(JsonObject *object, const char *name)
{
    JsonNode *node = json_object_get_member(object, name);

    return node && JSON_NODE_HOLDS_ARRAY(node) ? json_array_get_elements(json_node_get_array(node))
                                               : NULL;
}
