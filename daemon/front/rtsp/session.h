// An RTSP session: what one viewer watches of one mount, a track for each stream of it that has
// been set up. The tracks play and pause together. A session belongs to the connection that set it
// up; no other connection can use it.
#pragma once

#include "daemon/front/rtsp/message.h"
#include "daemon/front/rtsp/service.h"
#include "daemon/front/stream/rtp_sender.h"

struct session;

// A session of `connection` (borrowed), without a track. NULL: no memory or no random number.
struct session *session_new(struct connection *connection);
// Takes NULL.
void session_free(struct session *session);

// Sets up track `number` of its mount, which is `stream`, by `offer`, whose channels are chosen.
// The session does not have it yet. 0; -EADDRINUSE: packets go to those ports already; -ENOTSUP: no
// UDP; -ENOMEM; or as multicast_join().
int session_add_track(struct session *session, unsigned number, struct stream *stream,
                      const struct rtsp_transport_offer *offer);
bool session_has_track(const struct session *session, unsigned number);
// The Transport line of the answer to that track's SETUP. The caller frees it (g_free).
char *session_transport(const struct session *session, unsigned number);
// Its track with that channel of its connection; -1: none has it.
int session_find_channel(const struct session *session, int channel);
// Takes RTCP that came for that track.
void session_take_rtcp(struct session *session, unsigned number, const uint8_t *bytes, size_t size);

const char *session_id(const struct session *session);
struct connection *session_connection(const struct session *session);
// The functions below are for a session with a track.
const char *session_path(const struct session *session);
// Whether its tracks are those of the mount.
bool session_is_of(const struct session *session, const struct mount *mount);
// Whether a track comes by multicast.
bool session_is_multicast(const struct session *session);
// The RTP-Info line of the answer to PLAY, for a client that calls the mount `base`. The caller
// frees it (g_free).
char *session_rtp_info(const struct session *session, const char *base);

void session_play(struct session *session);
void session_pause(struct session *session);
bool session_is_playing(const struct session *session);
// Whether it has played since it was set up.
bool session_has_played(const struct session *session);
// Since when it does not play; INT64_MAX: it plays.
int64_t session_idle_ns(const struct session *session);

// Notes that its viewer is alive.
void session_refresh(struct session *session);
// To be called when the connection can be written to again.
void session_writable(struct session *session);
// To be called about once a second. -ETIMEDOUT: nothing was heard of its viewer for too long, or it
// was not played in time; -EPIPE: the viewer does not read any more.
int session_tick(struct session *session, int64_t now_ns);
// When the first of its tracks counts as stalled (reader_stalled_ns()).
int64_t session_stalled_ns(const struct session *session);
