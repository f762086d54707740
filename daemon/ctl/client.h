// Asks the running edged over its control socket: HTTP/1.0, one request a connection.
#pragma once

#include "config/base.h"

// GETs `page` ("/v1/status") from the control socket at `path` and stores the body, NUL-terminated,
// in *ret_body; the caller free()s it. -ENOENT or -ECONNREFUSED: no edged listens there; -EACCES;
// -ETIMEDOUT after 5 s; -EPROTO: the reply is no HTTP, cut short, or its status is not 200; each
// with its sentence in `error`.
int client_get(const char *path, const char *page, struct error *error, char **ret_body);

// Called for each line, without its end. A negative return ends client_follow() with it.
typedef int client_line(void *context, const char *line);
// GETs `page` and calls `line` for each line of the body as it comes, to its end: 0. As
// client_get(); -ETIMEDOUT when nothing came for 45 s, three times what edged lets pass.
int client_follow(const char *path, const char *page, client_line *line, void *context,
                  struct error *error);

// The control socket as `control.socket` has it; NULL and "" mean a user's own edged if it is
// there, or else the system's. The caller frees *ret_path. -EINVAL for a path that is too long.
int client_find_socket(const char *configured, struct error *error, char **ret_path);
