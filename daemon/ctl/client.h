// Asks the running edged over its control socket: HTTP/1.0, one request a connection.
#pragma once

#include "config/base.h"

// GETs `page` ("/v1/status") from the control socket at `path` and stores the body, NUL-terminated,
// in *ret_body; the caller free()s it. -ENOENT or -ECONNREFUSED: no edged listens there; -EACCES;
// -ETIMEDOUT after 5 s; -EPROTO: the reply is no HTTP, cut short, or its status is not 200; each
// with its sentence in `error`.
int client_get(const char *path, const char *page, struct error *error, char **ret_body);

// The same with a POST, that may take 60 s.
int client_post(const char *path, const char *page, struct error *error, char **ret_body);

// GETs `page`, whose body goes on for as long as edged does, and reads the head of the reply: the
// socket that the body comes from, which the caller closes. `last_id`: the newest event that was
// heard, NULL: none. As client_get(); -EINVAL: edged refuses what was asked for, in its own words.
int client_open_stream(const char *path, const char *page, const char *last_id,
                       struct error *error);

// The control socket as `control.socket` has it; NULL and "" mean a user's own edged if it is
// there, or else the system's. The caller frees *ret_path. -EINVAL for a path that is too long.
int client_find_socket(const char *configured, struct error *error, char **ret_path);
