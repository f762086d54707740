// Asks the running edged over its control socket: HTTP/1.0, one request a connection.
#pragma once

#include "config/base.h"

#include <json-glib/json-glib.h>

// GETs `page` ("/v1/status") from the control socket at `path` and stores the body, NUL-terminated,
// in *ret_body; the caller free()s it. -ENOENT or -ECONNREFUSED: no edged listens there; -EACCES;
// -ETIMEDOUT after 5 s; -EPROTO: the reply is no HTTP, cut short, or its status is not 200; each
// with its sentence in `error`.
int client_get(const char *path, const char *page, struct error *error, char **ret_body);

// The same with a POST, that may take 60 s.
int client_post(const char *path, const char *page, struct error *error, char **ret_body);

// GETs `page`, whose body does not end while edged runs, and reads the head of the reply. The
// caller reads the body from the socket, and closes it. `last_id` is the id of the newest event
// that was heard; NULL: none. Errors are those of client_get(), and -EINVAL: edged refuses the
// request, for the reason in `error`.
int client_open_stream(const char *path, const char *page, const char *last_id,
                       struct error *error);

// The JSON object in a reply or an event; the caller json_object_unref()s it. -EPROTO: it is none.
int client_parse(const char *text, struct error *error, JsonObject **ret_object);
// The status of the edged whose control.socket is `configured`, as client_find_socket() takes it.
// The caller json_object_unref()s it. Errors of client_get() and client_parse().
int client_get_status(const char *configured, struct error *error, JsonObject **ret_status);

// The path of the control socket, `configured` as the key control.socket. NULL and "" mean the
// socket of a user's own edged if it exists, or else the system's. The caller frees *ret_path.
// -EINVAL for a path that is too long.
int client_find_socket(const char *configured, struct error *error, char **ret_path);
// What the options --config and --socket choose, either of which may be NULL: the second, else the
// one that the file of the first names, else as above. -EINVAL also for a file with mistakes, which
// are said on standard error.
int client_choose_socket(const char *config_path, const char *socket, struct error *error,
                         char **ret_path);
