// Divides what a client sends into requests and the packets that are interleaved with them.
#pragma once

#include "daemon/front/rtsp/connection.h"

// Handles what is complete of `connection->unread` and the `bytes` that follow it, and keeps the
// rest there. Stops at a request whose answer has to wait; then this is called again, without
// bytes, when it has been given.
void incoming_take(struct connection *connection, const uint8_t *bytes, size_t size);
