// What the server does for each method of RTSP.
#pragma once

#include "daemon/front/rtsp/message.h"
#include "daemon/front/rtsp/service.h"

// Answers `request`, now or, where `connection->wait` is set afterwards, later.
void methods_handle(struct connection *connection, const struct rtsp_request *request);
// Answers one that could not be read, by its status; one of HTTP, in which some clients tunnel RTSP
// where nothing else works, as HTTP, so that they go on without it.
void methods_refuse(struct connection *connection, const struct rtsp_request *request,
                    enum rtsp_status status);
