// The configuration over HTTP: GET and PATCH /v1/config, GET /v1/config/schema and /settings.
#pragma once

#include "daemon/front/http/http_call.h"

CONTROL_RESULT config_route_values(struct http_call *call);
CONTROL_RESULT config_route_schema(struct http_call *call);
CONTROL_RESULT config_route_settings(struct http_call *call);
CONTROL_RESULT config_route_change(struct http_call *call);
