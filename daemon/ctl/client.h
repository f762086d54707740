// Asks the running edged over its control socket: HTTP/1.0, one request a connection.
#pragma once

#include "config/base.h"

#include <json-glib/json-glib.h>
#include <stdbool.h>

// GETs `page` ("/v1/status") from the control socket at `path` and stores the body, NUL-terminated,
// in *ret_body; the caller free()s it. -ENOENT or -ECONNREFUSED: no edged listens there; -EACCES;
// -ETIMEDOUT after 5 s; -EPROTO: the reply is no HTTP, cut short, or its status is not 200; each
// with its sentence in `error`.
int client_get(const char *path, const char *page, struct error *error, char **ret_body);

// The same for a body that is no text, of *ret_size bytes.
int client_get_bytes(const char *path, const char *page, struct error *error, char **ret_body,
                     size_t *ret_size);

// The same with a POST, that may take 60 s.
int client_post(const char *path, const char *page, struct error *error, char **ret_body);

// The same with a PATCH, whose body is `json`; -EINVAL also for what edged refuses, with its
// sentence.
int client_patch(const char *path, const char *page, const char *json, struct error *error,
                 char **ret_body);

// GETs `page`, whose body does not end while edged runs, and reads the head of the reply. The
// caller reads the body from the socket, and closes it. `last_id` is the id of the newest event
// that was heard; NULL: none. Errors are those of client_get(), and -EINVAL: edged refuses the
// request, for the reason in `error`.
int client_open_stream(const char *path, const char *page, const char *last_id,
                       struct error *error);

// The JSON object in a reply or an event; the caller json_object_unref()s it. -EPROTO: it is none.
int client_parse(const char *text, struct error *error, JsonObject **ret_object);
// The status of the edged whose key control.socket is `configured`; NULL and "" mean the socket of
// a user's own edged if it exists, or else the system's. The caller json_object_unref()s it. Errors
// of client_get() and client_parse().
int client_get_status(const char *configured, struct error *error, JsonObject **ret_status);

// What the options --config and --socket choose, either of which may be NULL: the second, else the
// one that the file of the first names, else as above. -EINVAL also for a file with mistakes, which
// are said on standard error.
int client_choose_socket(const char *config_path, const char *socket, struct error *error,
                         char **ret_path);

// Members of JSON objects that edged sent. Those that are missing, because it is of another
// version, show as empty, 0, false or NULL.
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
