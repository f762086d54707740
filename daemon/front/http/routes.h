// The URLs of the control API over one socket: which there are, who may ask for them, and the HTTP
// server.
//
// Each is a row of the table in routes.c: a method, a path, the least role that may ask, and the
// function that replies. `{camera}` and `{view}` in a path stand for one part of it each.
#pragma once

#include "daemon/front/http/http_call.h"

// The objects that the routes use; all borrowed.
struct http_routes_base {
    const struct http_page_address *page;
    struct model *model;
    struct pull_points *pull_points;
    struct http_access access; // whether it is encrypted is the server's
};

// Serves the routes by a server of `settings`, whose handler it fills in. Errors are those of
// http_server_new().
int http_routes_new(const struct http_routes_base *base,
                    const struct http_server_settings *settings, struct error *error,
                    struct http_routes **ret_routes);
// At a reload, after account_take_users(): hangs up on clients that may not ask any more, or not as
// much as before.
void http_routes_recheck(struct http_routes *routes);
// As http_server_limit().
void http_routes_limit(struct http_routes *routes, const struct http_limits *limits);
// Shows another certificate to clients that connect from now on. Only where there is one.
void http_routes_show(struct http_routes *routes, struct certificate *certificate);
// Accepts no more connections and gives up its socket.
void http_routes_stop_listening(struct http_routes *routes);
// Asks requests again that wait for something in the front.
void http_routes_wake(struct http_routes *routes);
// edged stops: answers each new request with 503, and ends the replies with video, as nobody is to
// watch a view any more.
void http_routes_stop(struct http_routes *routes);
// Ends all connections; those who follow events are sent the last of them, if their sockets take
// it. Takes NULL.
void http_routes_free(struct http_routes *routes);
