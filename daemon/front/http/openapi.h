// /openapi.yaml: what is served here, as OpenAPI 3.1. It is written by hand, built in, and compared
// with the table of routes by a test.
#pragma once

#include "daemon/front/http/http_call.h"

CONTROL_RESULT openapi_reply(struct http_call *call);
