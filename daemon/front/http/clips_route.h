// Clips over HTTP: their list, the facts of one, keeping, deleting and recording. clip_file.h sends
// their video and pictures.
#pragma once

#include "daemon/front/http/http_call.h"

// GET /v1/clips: a list, the newest first; with ?before=ID the older ones, until the list is empty.
CONTROL_RESULT clips_route_list(struct http_call *call);
CONTROL_RESULT clips_route_show(struct http_call *call);   // GET /v1/clips/{id}
CONTROL_RESULT clips_route_change(struct http_call *call); // PATCH
CONTROL_RESULT clips_route_delete(struct http_call *call); // DELETE

// POST /v1/cameras/{camera}/record: starts, prolongs or stops a clip.
CONTROL_RESULT clips_route_record(struct http_call *call);
// GET /v1/clips/excess: what other limits of `storage` would delete.
CONTROL_RESULT clips_route_excess(struct http_call *call);

// A time in a query: RFC 3339 ("2026-11-27T08:15:03Z"), or seconds since 1970 ("1764231303.5").
// False: it is neither, or not in the years 1970 to 2261.
bool clips_route_read_time(const char *text, int64_t *ret_wall_ns);
