// The answer to DESCRIBE, which may have to wait for the stream's first picture.
#pragma once

#include "daemon/front/rtsp/connection.h"

// Answers the request of that CSeq, which asks for `target`, with a description of `stream`. If the
// stream has no picture yet, sets `connection->wait` and answers when it has one; after 700 ms
// without one the answer is 503.
void description_send(struct connection *connection, struct stream *stream,
                      const struct rtsp_target *target, int64_t sequence);
