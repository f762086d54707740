// The functions of HTTP's routes (routes.c), each of which replies to a request that is allowed;
// and what of a request three of them read by a function of their own.
#pragma once

#include "daemon/front/http/http_call.h"

// The configuration
// ---------------------------------------------------------------------

// GET and PATCH /v1/config, GET /v1/config/schema and /settings.
HTTP_RESULT config_route_values(struct http_call *call);
HTTP_RESULT config_route_schema(struct http_call *call);
HTTP_RESULT config_route_settings(struct http_call *call);
HTTP_RESULT config_route_change(struct http_call *call);
// POST /v1/cameras/{camera}/armed with {"armed": true|false}, a shorter way to that key.
HTTP_RESULT config_route_arm(struct http_call *call);
// POST /v1/cameras/{camera}/views/{view}/keyframe: {"asked": false} where nobody watches.
HTTP_RESULT config_route_keyframe(struct http_call *call);

// POST /v1/tune: reads what is asked for, and replies with a line of JSON for each step and result
// of the tune, until it is over. A client that hangs up ends the tune. 400: the body is not what
// edged(8) says; 404: there is no such camera or view; 409: a tune is under way, or the camera does
// not compute on a GPU.
HTTP_RESULT tune_route_reply(struct http_call *call);

// Clips and events
// ---------------------------------------------------------------------

// GET /v1/clips: a list, the newest first; with ?before=ID the older ones, until the list is empty.
// With ?after=ID the newer ones, the oldest of these first.
HTTP_RESULT clips_route_list(struct http_call *call);
HTTP_RESULT clips_route_show(struct http_call *call);   // GET /v1/clips/{id}
HTTP_RESULT clips_route_change(struct http_call *call); // PATCH
HTTP_RESULT clips_route_delete(struct http_call *call); // DELETE

// GET /v1/timeline: which steps of a span of time each camera has clips of.
HTTP_RESULT timeline_route_show(struct http_call *call);

// POST /v1/cameras/{camera}/record: starts, prolongs or stops a clip.
HTTP_RESULT clips_route_record(struct http_call *call);
// GET /v1/clips/excess: what other limits of `storage` would delete.
HTTP_RESULT clips_route_excess(struct http_call *call);

// A time in a query: RFC 3339 ("2026-11-27T08:15:03Z"), or seconds since 1970 ("1764231303.5").
// False: it is neither, or not in the years 1970 to 2261.
bool clips_route_read_time(const char *text, int64_t *ret_wall_ns);
#define CLIPS_ROUTE_TIMES "a time as 2026-11-27T08:15:03Z, or seconds since 1970"

HTTP_RESULT clip_file_video(struct http_call *call);   // GET /v1/clips/{id}.mp4
HTTP_RESULT clip_file_picture(struct http_call *call); // GET /v1/clips/{id}.jpg

// Reads the header Range ("bytes=0-499", "bytes=500-", "bytes=-500") for a file of `size` bytes.
// 1: it asks for a part, of which the first and the last byte are written; 0: it is to be ignored,
// because it is of another form, or asks for several parts; -ERANGE: the file has no such bytes.
int clip_file_range(const char *range, uint64_t size, uint64_t *ret_first, uint64_t *ret_last);

// GET /v1/events: all events as they happen, as server-sent events. Reads the request's
// Last-Event-ID and the query's `camera` and `region`; 404 where there are none of these names. The
// client hears what its role may.
HTTP_RESULT events_route_follow(struct http_call *call);

// POST /onvif/{service}, and /onvif/{camera}/{service} or /onvif/subscription/{id}: a SOAP request.
HTTP_RESULT onvif_route_service(struct http_call *call);
HTTP_RESULT onvif_route_part(struct http_call *call);
// Whether ONVIF is answered without TLS where the rest is not.
bool onvif_route_is_plain(const struct model *model);

// Pictures and video
// ---------------------------------------------------------------------

// JPEGs for programs that know a camera by these two URLs. Both take ?camera=, ?view=, and ?scale=
// or ?width=; without them they show the first view that the client may watch, at full size. A view
// that nobody watches is computed for them. While the camera delivers no picture the reply is 503,
// because NO SIGNAL is not a picture of the camera.
//
// /snapshot.jpg: a JPEG of now, within a second.
HTTP_RESULT pictures_reply_snapshot(struct http_call *call);
// /stream.mjpg: multipart/x-mixed-replace, at most ?fps= JPEGs a second. A client that reads slowly
// gets fewer, and always the newest. The reply ends when no picture has come for 10 s, and when the
// view is gone or may not be watched any more.
HTTP_RESULT pictures_reply_stream(struct http_call *call);

// Live video (video.c): of the view that the path's parameters name, and of those of the query.
HTTP_RESULT video_reply_one(struct http_call *call);
HTTP_RESULT video_reply_many(struct http_call *call);

// The page, and logging in by a browser: a password or a link becomes a cookie
// ---------------------------------------------------------------------

// GET / and GET /page/{file}: a file of page/, with an ETag. 404: there is none of that name.
HTTP_RESULT http_page_reply(struct http_call *call);
// GET /openapi.yaml: all that is served here, as OpenAPI 3.1. The file is written by hand and built
// in as well, but for the schema of a clip (clip_json.h); a test compares it with the table of
// routes.
HTTP_RESULT http_page_openapi(struct http_call *call);

// GET /v1/session: {user, role, can_change, secure, way}. `way` is how the client is known:
// "cookie", "password", "token", "socket", or "open" (nobody is asked). While role is null it is
// how a browser may log in: "form" (POST /v1/login), or "prompt" (GET /login, by its own prompt,
// because a password must not be sent on this connection).
HTTP_RESULT login_session(struct http_call *call);
// POST /v1/login: {"user": NAME, "password": PASSWORD}, or a form with these fields, becomes the
// cookie, inside TLS and on this machine. A form goes on to "/".
HTTP_RESULT login_by_form(struct http_call *call);
// GET /login: by Digest, or by ?link=SECRET where there are no users; then goes on to "/".
HTTP_RESULT login_by_address(struct http_call *call);
// POST /v1/logout ends the session of the cookie.
HTTP_RESULT login_end(struct http_call *call);
// GET /v1/page-link, for the control socket alone: {"url": …} of the page, with the secret of the
// link where there are no users.
HTTP_RESULT login_link(struct http_call *call);

// A field of a form (application/x-www-form-urlencoded), decoded; NULL: it is not there, or is not
// UTF-8. The caller g_free()s it.
char *login_field(const char *text, size_t size, const char *name);
