// The URLs of the control API over one socket: which there are, who may ask for them, and the HTTP
// server.
//
// Each is a row of the table in routes.c: a method, a path, the least role that may ask, and the
// function that replies. `{camera}` and `{view}` in a path stand for one part of it each.
#pragma once

#include "daemon/front/events/event_feed.h"
#include "daemon/front/http/http_reply.h"
#include "daemon/front/status/facts.h"

struct account;
struct http_routes;

// What the server calls in the front; it g_free()s the texts that they return. `status` and
// `list_mounts` are front_status_text() and front_status_list_mounts(). `reload` loads the
// configuration again and returns the verdict as JSON. `refuse` is event_feed_refuse().
//
// Over TCP each role is shown only the cameras and views that it may watch; everyone who can open
// the control socket is shown all.
struct control_front {
    char *(*status)(void *context, enum facts_format format, enum config_role role);
    char *(*list_mounts)(void *context, enum config_role role);
    char *(*reload)(void *context);
    char *(*refuse)(void *context, enum config_role role, const char *camera, const char *region);
    void *context;
};

#define HTTP_PARAMETERS_MAX 2
#define HTTP_PARAMETER_SIZE 64

// A request that is allowed, on its way to the function of its route. All is borrowed and lasts
// until the function returns.
struct http_call {
    struct http_routes *routes;
    const struct control_front *front;
    struct event_feed *feed;
    struct http_server *server;
    const struct http_request *request;
    struct MHD_Connection *connection;
    enum config_role role; // of who asks
    bool is_local;         // by the control socket
    bool encrypted;
    char parameters[HTTP_PARAMETERS_MAX][HTTP_PARAMETER_SIZE]; // of the path, in order
};

// The value of a name in the query, decoded; NULL: it is not there.
const char *http_query(const struct http_call *call, const char *name);
// Of a header of the request; NULL: it is not there.
const char *http_header_of(const struct http_request *request, const char *name);

// Serves the routes from `front` and `feed` by a server of `settings`, whose handler it fills in.
// `account` says who may ask; NULL: whoever can open the socket, which its mode decides. All three
// are borrowed. Errors are those of http_server_new().
int http_routes_new(const struct control_front *front, struct event_feed *feed,
                    struct account *account, const struct http_server_settings *settings,
                    struct error *error, struct http_routes **ret_routes);
// At a reload, after account_take_users(): hangs up on clients that may not ask any more, or not as
// much as before.
void http_routes_recheck(struct http_routes *routes);
// Accepts no more connections and gives up its socket.
void http_routes_stop_listening(struct http_routes *routes);
// Ends all connections; those who follow events are sent the last of them, if their sockets take
// it. Takes NULL.
void http_routes_free(struct http_routes *routes);
