// The configuration over HTTP: GET and PATCH /v1/config, GET /v1/config/schema and /settings.
#pragma once

#include "daemon/front/http/http_call.h"

CONTROL_RESULT config_route_values(struct http_call *call);
CONTROL_RESULT config_route_schema(struct http_call *call);
CONTROL_RESULT config_route_settings(struct http_call *call);
CONTROL_RESULT config_route_change(struct http_call *call);
// POST /v1/cameras/{camera}/armed with {"armed": true|false}, a shorter way to that key.
CONTROL_RESULT config_route_arm(struct http_call *call);
// POST /v1/cameras/{camera}/views/{view}/keyframe: {"asked": false} where nobody watches.
CONTROL_RESULT config_route_keyframe(struct http_call *call);
