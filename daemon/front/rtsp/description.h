// The answer to DESCRIBE, which may have to wait for the stream's first picture.
#pragma once

#include "daemon/front/rtsp/connection.h"

// Describes `stream` to who asked for `target` by the request of that CSeq: now, or, with
// `connection->wait` set until then, when it has a picture, at most 700 ms later; then by 503.
void description_send(struct connection *connection, struct stream *stream,
                      const struct rtsp_target *target, int64_t sequence);
// Takes NULL.
void description_cancel(struct description_wait *wait);
