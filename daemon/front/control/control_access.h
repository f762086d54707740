// Whether a request over TCP may be answered, by the users and the limits of the RTSP server.
#pragma once

#include "daemon/front/control/http_server.h"

struct control_access {
    struct account *account; // borrowed
    bool encrypted;
    enum config_role role; // the least role that may
};

// Replies 401, 403, 429 or 400 to what is not allowed, with *ret_refused set, and returns what a
// handler of libmicrohttpd returns.
//
// A browser may send a request because a page of somebody else's tells it to. So without users only
// requests to a loopback address or "localhost" are answered, because any other name may be made to
// lead here; and what wants more than a viewer has to come from a user, and from no page.
CONTROL_RESULT control_access_refuse(const struct control_access *access,
                                     const struct http_request *request, bool *ret_refused);
