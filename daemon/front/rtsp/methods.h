// The server's part of each method of RTSP.
#pragma once

#include "daemon/front/rtsp/message.h"
#include "daemon/front/rtsp/service.h"

// Answers `request` now, or later where `connection->wait` is set afterwards: DESCRIBE of a mount
// without a picture waits for the first one, at most 700 ms; then the answer is 503.
void methods_handle(struct connection *connection, const struct rtsp_request *request);
// Answers a request that could not be read with `status`. A request of HTTP is answered as HTTP:
// some clients try to tunnel RTSP in it, and go on without the tunnel then.
void methods_refuse(struct connection *connection, const struct rtsp_request *request,
                    enum rtsp_status status);
// Forgets the request that waits for an answer, if one does.
void methods_forget(struct connection *connection);

// Describes the tracks of a mount (RFC 4566), whose parameter sets are there, for a client that
// reaches us at `address` (numeric). Its version grows with each change of the parameter sets. The
// caller g_free()s it.
char *methods_write_sdp(const struct mount *mount, const char *address);
