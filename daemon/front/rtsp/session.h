// An RTSP session: one viewer of one stream. By multicast the viewer is the group's, else the
// session's own. A session belongs to the connection that set it up; no other connection can use
// it.
#pragma once

#include "daemon/front/rtsp/message.h"
#include "daemon/front/rtsp/service.h"
#include "daemon/front/stream/rtp_sender.h"

struct session;

// Sets up a viewer of `stream` for `connection` (borrowed) by `offer`, whose channels are chosen.
// 0; -EADDRINUSE: packets go to those ports already; -ENOTSUP: no UDP; -ENOMEM; or as
// multicast_join().
int session_new(struct connection *connection, struct stream *stream,
                const struct rtsp_transport_offer *offer, struct session **ret_session);
// Takes NULL.
void session_free(struct session *session);

const char *session_id(const struct session *session);
struct stream *session_stream(const struct session *session);
struct connection *session_connection(const struct session *session);
struct rtp_sender *session_sender(const struct session *session);
// Whether its media travels on that channel of its connection.
bool session_uses_channel(const struct session *session, int channel);
bool session_is_multicast(const struct session *session);
// The Transport line of the answer to SETUP. The caller frees it (g_free).
char *session_transport(const struct session *session);

void session_play(struct session *session);
void session_pause(struct session *session);
bool session_is_playing(const struct session *session);
// Whether it has played since it was set up.
bool session_has_played(const struct session *session);
// Since when it does not play; INT64_MAX: it plays.
int64_t session_idle_ns(const struct session *session);

// Notes that its viewer is alive.
void session_refresh(struct session *session);
// Takes RTCP that came on its channel.
void session_take_rtcp(struct session *session, const uint8_t *bytes, size_t size);
// To be called when the connection can be written to again.
void session_writable(struct session *session);
// To be called about once a second. -ETIMEDOUT: nothing was heard of its viewer for too long, or it
// was not played in time; -EPIPE: the viewer does not read any more.
int session_tick(struct session *session, int64_t now_ns);
