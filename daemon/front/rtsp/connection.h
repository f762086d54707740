// One client of the RTSP server: its wire (the byte stream), its requests and its sessions. Main
// loop only.
#pragma once

#include "daemon/front/rtsp/message.h"
#include "daemon/front/rtsp/service.h"
#include "daemon/front/rtsp/session.h"
#include "daemon/front/rtsp/target.h"
#include "daemon/front/rtsp/wire.h"

#include <netinet/in.h>

// How many bytes of an incomplete request or packet are kept.
#define CONNECTION_UNREAD_MAX (RTSP_HEAD_MAX + RTSP_BODY_MAX)

struct connection;
// Takes `bytes` that were read, at most what CONNECTION_UNREAD_MAX leaves room for; or none, after
// connection_resume().
typedef void connection_take(struct connection *connection, const uint8_t *bytes, size_t size);

// The fields are those of connection.c, incoming.c, methods.c and description.c.
struct connection {
    struct rtsp_service *service; // borrowed
    struct wire *wire;            // owned
    connection_take *take;
    struct poller_watch watch;
    struct sockaddr_storage local, peer; // its ends
    char peer_name[INET6_ADDRSTRLEN];    // numeric
    char local_name[INET6_ADDRSTRLEN];
    struct rtsp_address *address; // of the peer
    struct account_login login;
    GByteArray *unread; // owned; what came of a request that is not complete
    // Bytes still to come and to be left out: of an interleaved packet that is too long, or all
    // that one may send that leaves.
    size_t skipped;
    GPtrArray *sessions;           // owned struct session
    guint turn;                    // modulo their number: which of them may write first
    struct description_wait *wait; // owned; of a DESCRIBE; NULL: none waits
    void (*drop_wait)(struct description_wait *wait);
    struct handshake handshake; // its turns
    bool handshake_done;        // or there is none
    bool ended;                 // it has ended, and is going to be freed
    int64_t leave_by_ns;        // it was refused and has to hang up until then; 0: it stays
    int64_t idle_ns;            // since when it has no session that has played
    int64_t second_ns;          // of the requests counted
    unsigned requests;          // in that second
};

// Takes over `wire`, in any case. What is read goes to `take`: incoming_take(). 0 or -errno.
int connection_new(struct rtsp_service *service, struct wire *wire,
                   const struct sockaddr_storage *peer, connection_take *take,
                   struct connection **ret_connection);
// Closes it, with its sessions. Takes NULL.
void connection_free(struct connection *connection);

// Reads and writes nothing more; the connection is freed soon.
void connection_end(struct connection *connection);
bool connection_is_playing(const struct connection *connection);
// Ends one of its sessions, which others need the room of.
void connection_drop_session(struct connection *connection, struct session *session);
// How many of its sessions play the stream of that path; NULL: any.
unsigned connection_count_viewers(const struct connection *connection, const char *path);
// Whether one of its sessions is set up for that stream.
bool connection_has_stream(const struct connection *connection, const char *path);
// About once a second: ends it or its sessions where their time is over. Returns when the time of
// one will be, so that this is called then; INT64_MAX: it has ended.
int64_t connection_tick(struct connection *connection, int64_t now_ns);

// Ends the connection if one of its sessions plays what its user may not watch any more, or may not
// watch by multicast.
void connection_recheck(struct connection *connection);

// Ends it when what waits to be sent is sent and the client has hung up, which it has a little time
// for: to close a connection of which something was not read resets it, and the client may lose
// the last answer by that. Its sessions end at once.
void connection_leave(struct connection *connection);

// For methods.c and description.c.
// Sends a reply, which it frees.
void connection_reply(struct connection *connection, GString *reply);
// Goes on reading, after a request that waited.
void connection_resume(struct connection *connection);
