// State that all connections of the RTSP server share: UDP sockets, limits, and the share
// of each client in them; and the state of each connection. Main loop only.
#pragma once

#include "config/config.h"
#include "daemon/common/log_limit.h"
#include "daemon/common/peer.h"
#include "daemon/front/account/account.h"
#include "daemon/front/model/mounts.h"
#include "daemon/front/rtsp/multicast.h"
#include "daemon/front/rtsp/wire.h"
#include "daemon/front/socket/poller.h"
#include "daemon/front/stream/stream.h"
#include "daemon/front/stream/transport_udp.h"

#include <glib.h>

// How long a session lives without a sign of its viewer (the timeout of RFC 2326, section 12.37).
#define RTSP_SESSION_TIMEOUT_S 60

// Shares of the clients of one address: of IPv4 an address, of IPv6 a /64. It lives as long as the
// first of its connections is there.
struct rtsp_address {
    struct peer network;
    GQueue handshakes;    // borrowed struct connection that wait for their turn, the longest first
    unsigned connections; // that have not been freed
    unsigned idle;        // scratch of rtsp_server.c
    GQueue sessions;      // borrowed struct session
};

struct rtsp_service {
    struct poller *poller;          // owned
    struct account *account;        // borrowed
    GHashTable *addresses;          // struct rtsp_address, a set; NULL: there is none
    GHashTable *mounts;             // borrowed (mounts.h)
    struct sockaddr_storage local;  // where the server listens; AF_UNSPEC: at more than one address
    struct udp_sockets *udp, *udp6; // owned; NULL: not needed yet
    struct multicast *multicast;    // owned
    GQueue handshakes;        // borrowed struct rtsp_address, the one whose turn is next first
    GSource *handshake_turns; // owned; NULL: no connection waits to shake hands
    struct config_limits limits;
    struct log_limits log_limits; // of lines about viewers, by address
    unsigned session_count;
    GSource *reaper; // owned; frees the connections that have ended; NULL: their owner does
};

// A client of the server: its wire (the byte stream), its requests and its sessions.
struct connection {
    struct rtsp_service *service; // borrowed
    struct wire *wire;            // owned
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
    bool resumed;                  // `unread` may have a whole request, because none waits any more
    bool awaits_turn;              // to go on with its handshake
    bool handshake_done;           // or there is none
    bool ended;                    // it has ended, and is going to be freed
    int64_t leave_by_ns;           // it was refused and has to hang up until then; 0: it stays
    int64_t idle_ns;               // since when it has no session that has played
    int64_t second_ns;             // of the requests counted
    unsigned requests;             // in that second
};

// The sockets for peers of that family, AF_INET or AF_INET6; borrowed. NULL: there can be none.
struct udp_sockets *rtsp_service_udp(struct rtsp_service *service, int family);
// Whether a mount may be watched by multicast: every viewer may watch it, because nobody is asked
// for a password when joining a group.
bool rtsp_service_has_multicast(const struct rtsp_service *service, const struct mount *mount);
// The address of a new connection, which counts as one of it until it is released.
struct rtsp_address *rtsp_service_address(struct rtsp_service *service, const struct peer *peer);
// A connection of it is freed.
void rtsp_service_release(struct rtsp_service *service, struct rtsp_address *address);
// Whether the log is to have a line about a client of that address; as log_limit_line().
bool rtsp_service_logs(struct rtsp_service *service, const struct rtsp_address *address,
                       char ret_suffix[LOG_LIMIT_SUFFIX_SIZE]);
// A source of the main loop that calls `call` when its ready time has come, which is never at
// first. The caller destroys and unrefs it.
GSource *rtsp_service_source(GSourceFunc call, void *context, int priority);

// Ends a connection: nothing more is read or written, and it is freed when nothing uses it any
// more.
void rtsp_service_end(struct connection *connection);
// Sends a reply, which it frees.
void rtsp_service_reply(struct connection *connection, GString *reply);
// A request that waited has been answered: the main loop goes on with those behind it.
void rtsp_service_resume(struct connection *connection);
