// POST /v1/tune: reads what is asked for, and replies with a line of JSON for each step and result
// of the tune, until it is over. A client that hangs up ends the tune.
#pragma once

#include "daemon/front/http/http_call.h"

// The function of the route. 400: the body is not what edged(8) says; 404: there is no such camera
// or view; 409: a tune is under way, or the camera does not compute on a GPU.
CONTROL_RESULT tune_route_reply(struct http_call *call);
