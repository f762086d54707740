// One client of the RTSP server, from its first byte to its last: reads its requests and the
// packets interleaved with them, writes what its sessions have for it, and ends it when its time is
// over. Main loop only.
#pragma once

#include "daemon/front/rtsp/message.h"
#include "daemon/front/rtsp/service.h"

// How many bytes of an incomplete request or packet are kept.
#define CONNECTION_UNREAD_MAX (RTSP_HEAD_MAX + RTSP_BODY_MAX)

// Takes over `wire`, in any case. 0 or -errno.
int connection_new(struct rtsp_service *service, struct wire *wire,
                   const struct sockaddr_storage *peer, struct connection **ret_connection);
// Closes it, with its sessions. Takes NULL.
void connection_free(struct connection *connection);

// How many of its sessions play.
unsigned connection_count_viewers(const struct connection *connection);
// About once a second: ends it or its sessions where their time is over. Returns when the time of
// one will be, so that this is called then; INT64_MAX: it has ended.
int64_t connection_tick(struct connection *connection, int64_t now_ns);

// Ends the connection if one of its sessions has a stream that is at no path any more, or that its
// user may not watch any more, or not by multicast.
void connection_recheck(struct connection *connection);
