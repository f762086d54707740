// What all connections of the RTSP server share: mounts, UDP sockets, limits, and who has how much
// of what is limited. Main loop only.
#pragma once

#include "config/config.h"
#include "daemon/common/log_limit.h"
#include "daemon/front/account/account.h"
#include "daemon/front/account/peer.h"
#include "daemon/front/poller.h"
#include "daemon/front/rtsp/handshakes.h"
#include "daemon/front/rtsp/multicast.h"
#include "daemon/front/stream/stream.h"
#include "daemon/front/stream/transport_udp.h"

#include <glib.h>

// How long a session lives without a sign of its viewer (the timeout of RFC 2326, section 12.37).
#define RTSP_SESSION_TIMEOUT_S 60

// What a path leads to.
struct rtsp_mount {
    struct stream *stream; // a reference
    enum config_role role; // the least that may watch
};

// What clients of one address have: of IPv4 an address, of IPv6 a /64. It lives as long as the
// first of its connections is there.
struct rtsp_address {
    struct peer network;
    struct handshake_line handshakes;
    unsigned connections; // that have not been freed
    unsigned idle;        // scratch of rtsp_server.c
    GQueue sessions;      // borrowed struct session
};

struct rtsp_service {
    struct poller *poller;          // owned
    struct account *account;        // borrowed
    GHashTable *addresses;          // struct rtsp_address, a set; NULL: there is none
    GHashTable *mounts;             // path to struct rtsp_mount, both owned
    struct sockaddr_storage local;  // where the server listens; AF_UNSPEC: at more than one address
    struct udp_sockets *udp, *udp6; // owned; NULL: not needed yet
    struct multicast *multicast;    // owned
    struct handshakes handshakes;   // of encrypted connections
    struct config_limits limits;
    struct log_limits log_limits; // of lines about viewers, by address
    unsigned session_count;
    guint reaper;                // GLib source id; 0: no connection has ended
    void (*reap)(void *context); // frees the connections that have ended
    void *context;
};

// The mount of a path; borrowed. NULL: there is none.
const struct rtsp_mount *rtsp_service_find(const struct rtsp_service *service, const char *path);
// The paths that `role` may watch, a line each, for somebody who asked for one that there is not.
// The caller g_free()s it.
char *rtsp_service_list(const struct rtsp_service *service, enum config_role role);
// The sockets for peers of that family, AF_INET or AF_INET6; borrowed. NULL: there can be none.
struct udp_sockets *rtsp_service_udp(struct rtsp_service *service, int family);
// Whether a mount may be watched by multicast: all who may watch at all may watch it, for whoever
// joins the group is not asked.
bool rtsp_service_has_multicast(const struct rtsp_service *service, const struct rtsp_mount *mount);
// The address of a new connection, which counts as one of it until it is released.
struct rtsp_address *rtsp_service_address(struct rtsp_service *service, const struct peer *peer);
// A connection of it is freed.
void rtsp_service_release(struct rtsp_service *service, struct rtsp_address *address);
// Whether the log is to have a line about a client of that address; as log_limit_line().
bool rtsp_service_logs(struct rtsp_service *service, const struct rtsp_address *address,
                       char ret_suffix[LOG_LIMIT_SUFFIX_SIZE]);
// A connection has ended, and is to be freed when nothing uses it any more.
void rtsp_service_reap(struct rtsp_service *service);
