// One request on its way to the function of its route. The table of routes (routes.h) knows the
// functions; they know this.
#pragma once

#include "daemon/front/http/access.h"
#include "daemon/front/http/http_reply.h"
#include "daemon/front/model/model.h"

struct http_routes;
struct pull_points;

// Where a browser on this machine finds the page.
struct http_page_address {
    char *url;         // "https://127.0.0.1:9854"; NULL: HTTP is not served over TCP
    const char *shown; // the address that is listened on, "https://0.0.0.0:9854"; NULL: none
    bool is_loopback;  // it is an address of this machine alone
};

#define HTTP_PARAMETERS_MAX 2
#define HTTP_PARAMETER_SIZE 64

// A request that is allowed, on its way to the function of its route. All is borrowed and lasts
// until the function returns.
struct http_call {
    struct http_routes *routes;
    struct model *model;
    struct http_server *server;
    const struct http_request *request;
    struct MHD_Connection *connection;
    const struct http_page_address *page;
    const struct http_access *access;
    struct pull_points *pull_points; // of ONVIF
    GPtrArray *waiting;              // requests that wait for the front, for http_wait_in()
    bool is_stopping;                // nothing may be waited for any more
    enum config_role role;           // what it may watch
    char parameters[HTTP_PARAMETERS_MAX][HTTP_PARAMETER_SIZE]; // of the path, in order
};

// Cross-Origin-Resource-Policy of pictures and video.
static inline struct http_header http_media_policy(const struct http_call *call)
{
    return (struct http_header){"Cross-Origin-Resource-Policy",
                                access_may_embed(call->access) ? "cross-origin" : "same-origin"};
}

// The value of a name in the query, decoded; NULL: it is not there.
static inline const char *http_query(const struct http_call *call, const char *name)
{
    return MHD_lookup_connection_value(call->connection, MHD_GET_ARGUMENT_KIND, name);
}
