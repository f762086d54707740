// How HTTP's clients share its connections, its replies that go on (events, videos, downloads) and
// its TLS handshakes.
//
// A client counts for its user once a request has proved one, and else for its address (of IPv6, a
// /64). An address of http.proxies stands for many clients, so it may take more than others. When
// all is taken, a newcomer replaces a client of the user or address that has most: of connections
// one that waits for a request or reads slowly, of replies the newest.
//
// The signature of a handshake takes milliseconds by RSA, and all that the main loop serves waits
// for it. So a connection inside TLS is held back until its client has sent a whole ClientHello.
// Then addresses take turns, with one unfinished handshake each: first the address whose last turn
// was longest ago. One that has left a handshake unfinished, or has many connections, comes later,
// and all of these together have a twenty-fifth of the main loop's time for handshakes.
#pragma once

#include "config/config.h"
#include "daemon/common/peer.h"
#include "daemon/front/account/account.h"

#include <glib.h>

struct http_stream;

struct http_limits {
    unsigned connections;
    unsigned connections_an_address; // 0: as many of an address as in all
    unsigned streams;                // replies that go on
    unsigned streams_a_client;       // 0: as many of a client as in all
    unsigned streams_reserved;       // of `streams`, for clients that have logged in
    struct peer proxies[CONFIG_NAMES_MAX];
    size_t proxy_count;
};

enum http_stage {
    HTTP_HELD,  // it is not libmicrohttpd's yet, and has not sent a whole ClientHello or a request
    HTTP_READY, // it has, and waits for its turn
    HTTP_SHAKES,
    HTTP_SERVED,
};

// The counts of an address.
struct http_address {
    struct peer network; // of a proxy its address; all 0: a unix socket
    bool is_proxy;
    unsigned clients;           // that are known of it
    unsigned connections;       // those that have not ended
    struct http_client *shakes; // the one that shakes hands; NULL: none does
    int64_t turn_ns;            // when a handshake last began; 0: never, or it is forgotten
    int64_t abandoned_ns;       // when one was last left unfinished; 0: never
};

// A connection as it counts among the others. Embedded.
struct http_client {
    int fd;
    struct http_address *address; // the room's
    enum http_stage stage;
    int64_t stage_ns;           // since when
    bool accepted;              // a request of it was not refused
    bool ended;                 // hung up on
    int64_t waiting_since_ns;   // since when it waits for a whole request; 0: that is answered
    int64_t answered_ns;        // when it was complete
    struct http_stream *stream; // its reply, which goes on; borrowed; NULL: it does not
    bool is_download;           // which ends by itself
    int64_t leaves_ns;          // the reply makes room and is to have ended by then; 0: it does not
    struct account_login login;
};

// Embedded in a server.
struct http_room {
    struct http_limits limits;
    GPtrArray *clients;    // of struct http_client, borrowed
    GHashTable *addresses; // of struct http_address by its network; owned
    unsigned connections;  // clients that have not ended
    bool charges;          // the handshake that began last is one of a crowd
    int64_t crowd_ns;      // before that time no other one of a crowd begins
};

void http_room_init(struct http_room *room, const struct http_limits *limits);
// There are no clients left. Takes one that was never initialized.
void http_room_finish(struct http_room *room);
// A client from `address`, AF_UNIX or of an IP, comes; is hung up on; and is gone.
void http_room_add(struct http_room *room, struct http_client *client,
                   const struct sockaddr *address);
void http_room_end(struct http_room *room, struct http_client *client);
void http_room_remove(struct http_room *room, struct http_client *client);
// Once a second while there are clients: forgets addresses of which there are none.
void http_room_sweep(struct http_room *room, int64_t now_ns);

// Whether a newcomer, which was added, may stay; if so, *ret_leaves is to be hung up on in its
// place, NULL: nobody.
bool http_room_for_connection(const struct http_room *room, const struct http_client *newcomer,
                              int64_t now_ns, struct http_client **ret_leaves);
// The same for a reply of `asking` that goes on; the reply of *ret_leaves is to end. -EBUSY: it may
// not, with the key and the reason in `fault`.
int http_room_for_stream(const struct http_room *room, const struct http_client *asking,
                         struct fault *fault, struct http_client **ret_leaves);
// Looks whether a held client has sent its ClientHello, or something that is none, which makes it
// HTTP_READY; or has begun a request without TLS, which makes it HTTP_SERVED. False: it has hung
// up.
bool http_room_look_at_hello(struct http_client *client, int64_t now_ns);
// The client whose handshake is next; NULL: none is. *ret_late: its address waits for longer than
// it should for this client's handshake, which is to be hung up on; NULL: none.
struct http_client *http_room_next_handshake(const struct http_room *room, int64_t now_ns,
                                             struct http_client **ret_late);
// That client begins; what its first step has cost; and it has finished.
void http_room_begin_handshake(struct http_room *room, struct http_client *client, int64_t now_ns);
void http_room_charge_handshake(struct http_room *room, int64_t spent_ns, int64_t now_ns);
void http_room_end_handshake(struct http_client *client);
