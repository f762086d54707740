// Asks the running edged, over its control socket or with --host over the network: HTTP/1.0, one
// request a connection. Anybody may answer there: texts come without control characters
// (json_replace_controls()), and JSON is not nested too deep for its parser.
#pragma once

#include "daemon/client/client_wire.h"

#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stdio.h>

struct client; // an edged, and how it is asked

// The choices of a command's options. Each may be NULL. Without `host` it is a control socket: that
// of `socket`, else the one that the file `config_path` names, else that of a user's own edged if
// it exists, or else the system's.
struct client_options {
    const char *config_path, *socket;
    const char *host;             // "https://camera:9854", "camera"
    const char *token_file;       // NULL: the token is CLIENT_TOKEN_VARIABLE's, if that is set
    const char *ca, *fingerprint; // whom to trust: a file of CAs, the SHA-256 of a certificate
};

#define CLIENT_TOKEN_VARIABLE "EDGED_TOKEN"

// The rows of struct client_options for a command's table, and what they are in its help.
#define CLIENT_OPTIONS(options)                                                                    \
    {"config", .text = &(options)->config_path}, {"socket", .text = &(options)->socket},           \
        {"host", .text = &(options)->host}, {"token-file", .text = &(options)->token_file},        \
        {"ca", .text = &(options)->ca},                                                            \
    {                                                                                              \
        "fingerprint", .text = &(options)->fingerprint                                             \
    }
#define CLIENT_SYNOPSIS "[--config FILE | --socket PATH | --host HOST]"
#define CLIENT_HELP                                                                                \
    "  --config FILE  the running edged's configuration, which names its control socket\n"         \
    "  --socket PATH  the control socket, as `control.socket` in edged.conf\n"                     \
    "  --host HOST    ask over the network instead: https://HOST:PORT, or HOST\n"                  \
    "  --token-file FILE\n"                                                                        \
    "                 a token of `edgectl token` for --host; else $" CLIENT_TOKEN_VARIABLE "\n"    \
    "  --ca FILE      trust these CAs instead of the system's\n"                                   \
    "  --fingerprint SHA256\n"                                                                     \
    "                 trust the certificate that has it, and no other\n"

// Reads what the options name, and asks nobody yet. -EINVAL: they are wrong, or do not go together,
// with the sentence in `error`; mistakes in a configuration are said on standard error. The caller
// client_free()s *ret_client.
int client_new(const struct client_options *options, struct error *error,
               struct client **ret_client);
// Takes NULL.
void client_free(struct client *client);
void client_cleanup(struct client **client); // for _cleanup_

// Where it is, for messages: the path of the socket, or "https://camera:9854". The client's.
const char *client_name(const struct client *client);

// GETs `page` ("/v1/status") and stores the body, NUL-terminated, in *ret_body; the caller free()s
// it. Errors of client_wire_open(); -ETIMEDOUT after 5 s; -EPROTO: the reply is no HTTP, or cut
// short; -EAGAIN (503) and -EINVAL: edged refuses; each with its sentence in `error`.
int client_get(const struct client *client, const char *page, struct error *error, char **ret_body);

// The same for a body that is no text, of *ret_size bytes, as they came.
int client_get_bytes(const struct client *client, const char *page, struct error *error,
                     char **ret_body, size_t *ret_size);

// GETs `page` and does not wait for the reply: the caller reads all of it from *ret_wire, and
// client_wire_free()s that. Errors of client_wire_open().
int client_begin(const struct client *client, const char *page, struct error *error,
                 struct client_wire **ret_wire);
// The body in such a reply, of *ret_size bytes as they came, which is the reply's own. Errors of
// client_get().
int client_read_reply(const struct client *client, const GString *reply, struct error *error,
                      const char **ret_body, size_t *ret_size);

// The same as client_get() with a POST, that may take 60 s. Its body is `json`; NULL: it has none.
int client_post(const struct client *client, const char *page, const char *json,
                struct error *error, char **ret_body);

// The same with a PATCH, whose body is `json`.
int client_patch(const struct client *client, const char *page, const char *json,
                 struct error *error, char **ret_body);

// DELETEs `page`.
int client_delete(const struct client *client, const char *page, struct error *error);

// GETs `page` and writes the body to `file` as it comes, however long it is. Errors are those of
// client_get(), and what the file system says.
int client_download(const struct client *client, const char *page, FILE *file, struct error *error);

// GETs `page`, whose body does not end while edged runs, and reads the head of the reply. The
// caller reads the body from *ret_wire, and client_wire_free()s it. `last_id` is the id of the
// newest event that was heard; NULL: none. Errors are those of client_get().
int client_open_stream(const struct client *client, const char *page, const char *last_id,
                       struct error *error, struct client_wire **ret_wire);

// The JSON object in a reply or an event; the caller json_object_unref()s it. -EPROTO: it is none
// that json_parse() takes.
int client_parse(const char *text, struct error *error, JsonObject **ret_object);
// The same of an array, which the caller json_array_unref()s.
int client_parse_array(const char *text, struct error *error, JsonArray **ret_array);
// The status, which the caller json_object_unref()s. Errors of client_get() and client_parse().
int client_read_status(const struct client *client, struct error *error, JsonObject **ret_status);
// The same of the edged whose key control.socket is `configured`; NULL and "" mean the socket of a
// user's own edged if it exists, or else the system's.
int client_get_status(const char *configured, struct error *error, JsonObject **ret_status);

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
