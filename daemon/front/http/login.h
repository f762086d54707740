// Logging in by a browser: a password or a link becomes a cookie.
#pragma once

#include "daemon/front/http/http_call.h"

// GET /v1/session: {user, role, can_change, secure, way}. `way` is how the client is known:
// "cookie", "password", "token", "socket", or "open" (nobody is asked). While role is null it is
// how a browser may log in: "form" (POST /v1/login), or "prompt" (GET /login, by its own prompt,
// because a password must not be sent on this connection).
CONTROL_RESULT login_session(struct http_call *call);
// POST /v1/login: {"user": NAME, "password": PASSWORD}, or a form with these fields, becomes the
// cookie, inside TLS and on this machine. A form goes on to "/".
CONTROL_RESULT login_by_form(struct http_call *call);
// GET /login: by Digest, or by ?link=SECRET where there are no users; then goes on to "/".
CONTROL_RESULT login_by_address(struct http_call *call);
// POST /v1/logout ends the session of the cookie.
CONTROL_RESULT login_end(struct http_call *call);
// GET /v1/page-link, for the control socket alone: {"url": …} of the page, with the secret of the
// link where there are no users.
CONTROL_RESULT login_link(struct http_call *call);
