// libmicrohttpd on the front's main loop: one listening socket, plain or TLS, and its connections.
//
// It runs in its external epoll mode: its epoll fd and its next timeout make one GSource, so that
// every callback runs on the main loop and sees the front between two events. The server accepts
// connections itself and hands them over, inside TLS one after the other (http_room.h, which also
// says who makes room when all is taken). Where there is TLS, a connection that begins with a
// request in place of a handshake is served without it, so that the client can be sent to https. A
// client has 10 s to send a whole request, from its connect (the TLS handshake included) or from
// its last reply. The server has a share of the main loop (http_share.h).
#pragma once

#include "config/base.h"
#include "daemon/front/account/account.h"
#include "daemon/front/account/certificate.h"
#include "daemon/front/http/http_room.h"

#include <glib.h>
#include <microhttpd.h>
#include <sys/socket.h>

// Before 0.9.71 handlers return int.
#if MHD_VERSION >= 0x00097100
#define HTTP_RESULT enum MHD_Result
#else
#define HTTP_RESULT int
#endif

#define HTTP_REQUEST_WITHIN_S 10
#define HTTP_BODY_MAX_BYTES 65536u

struct http_server;

// The operation that a suspended request waits for; see http_wait(). Zeroed: none.
struct http_waiting {
    void (*drop)(void *context); // called where the request ends without a reply
    void *context;
};

struct http_request {
    struct MHD_Connection *connection; // borrowed, as all here
    const char *method, *path;         // without the query, decoded
    const char *uri;                   // as the request line has it
    const char *version;               // "HTTP/1.1"
    bool lacks_tls;                    // although the server has a certificate: it is to be refused
    const struct sockaddr *peer;       // NULL: by a unix socket
    struct account_login *login;       // of the connection, for account_check()
    // Ends in a 0 that body_size does not count. A larger body than HTTP_BODY_MAX_BYTES is cut off
    // there; body_size is the size of all of it.
    const char *body;
    size_t body_size;
    struct http_waiting *waiting;
};

// The first two return what a handler of libmicrohttpd returns.
struct http_handler {
    // Called with the headers, before a body is read. Replies to a request that is refused, and
    // sets *ret_refused.
    HTTP_RESULT (*refuse)(void *context, const struct http_request *request, bool *ret_refused);
    // Called once the request is complete, with its body; once more after a wait.
    HTTP_RESULT (*reply)(void *context, const struct http_request *request);
    // Whether a reply may go on. Called once a second for each that does; if false, the client is
    // disconnected.
    bool (*may_go_on)(void *context, const struct account_login *login);
    void *context;
};

struct http_server_settings {
    const char *name; // for messages, a literal
    int fd;           // listening, non-blocking, CLOEXEC; the server's once it has started
    struct http_limits limits;
    unsigned silence_s;              // after which a connection is closed
    struct certificate *certificate; // NULL: plain; referenced
    struct http_handler handler;
};

// Serves in the default main context. -EIO: libmicrohttpd does not start; -ENOMEM. The descriptor
// then is still the caller's.
int http_server_new(const struct http_server_settings *settings, struct error *error,
                    struct http_server **ret_server);
// Sets the limits from now on. Connections and replies that there are stay.
void http_server_limit(struct http_server *server, const struct http_limits *limits);
// Shows another certificate from now on. Only of a server that has one. Connections that there are
// go on with theirs.
void http_server_show(struct http_server *server, struct certificate *certificate);
// Lets the server run after something that no socket announces, such as MHD_resume_connection().
void http_server_wake(const struct http_server *server);
// Accepts no more connections and gives up the socket. Connections that there are go on.
void http_server_stop_listening(struct http_server *server);
// Disconnects clients with an allowed request if by `account` they now may less than `role`, or
// less than their own role.
void http_server_hang_up_strangers(const struct http_server *server, const struct account *account,
                                   enum config_role role);
// The replies that go on (http_reply.h), of struct http_stream; the server's.
GPtrArray *http_server_streams(const struct http_server *server);
// Makes room for one more, `stream`, on this connection. -EBUSY: there is none, with the key and
// the reason in `fault`. Else *ret_leaves, which is not NULL, is to end soon, for its room.
int http_server_add_stream(struct http_server *server, struct MHD_Connection *connection,
                           struct http_stream *stream, bool is_download, struct fault *fault,
                           struct http_stream **ret_leaves);
// Whether there would be room for one more on this connection.
bool http_server_has_room(const struct http_server *server, struct MHD_Connection *connection);
// It is over. The connection may be gone by then.
void http_server_remove_stream(struct http_server *server, const struct http_stream *stream);
// Counts such time that was spent on requests elsewhere as the server's share of the main loop.
void http_server_charge(struct http_server *server, int64_t spent_ns);
// Runs the server once, so that connections that were resumed go on.
void http_server_run(const struct http_server *server);
// Ends all connections, of which none may be suspended, and closes the socket. Takes NULL.
void http_server_free(struct http_server *server);
