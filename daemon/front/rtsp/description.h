// The answer to DESCRIBE: a session description (RFC 4566), which may have to wait for the stream's
// first picture.
#pragma once

#include "daemon/front/rtsp/message.h"
#include "daemon/front/rtsp/service.h"

// Answers the request of that CSeq, which asks for `target`, with a description of `stream`. If the
// stream has no picture yet, sets `connection->wait` and answers when it has one; after 700 ms
// without one the answer is 503.
void description_send(struct connection *connection, struct stream *stream,
                      const struct rtsp_target *target, int64_t sequence);
// Forgets the request that waits, if one does.
void description_drop(struct connection *connection);

// Describes one video stream called `name`, of `payloader` and its parameter sets, for a client
// that reaches us at `address` (numeric). `version` grows with each change of them (RFC 4566,
// section 5.2). The caller g_free()s it.
char *sdp_write(const char *name, const char *address, const struct payloader_ops *payloader,
                const struct parameter_sets *sets, unsigned version);
