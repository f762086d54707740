// The server's part of each method of RTSP.
#pragma once

#include "daemon/front/rtsp/message.h"
#include "daemon/front/rtsp/service.h"

// Answers `request`, now or, where `connection->wait` is set afterwards, later.
void methods_handle(struct connection *connection, const struct rtsp_request *request);
// Answers a request that could not be read with `status`. A request of HTTP is answered as HTTP:
// some clients try to tunnel RTSP in it, and go on without the tunnel then.
void methods_refuse(struct connection *connection, const struct rtsp_request *request,
                    enum rtsp_status status);
