// One request on its way to the function of its route, and what that may call in the front. The
// table of routes (routes.h) knows the functions; they know this.
#pragma once

#include "daemon/front/events/event_feed.h"
#include "daemon/front/http/access.h"
#include "daemon/front/http/http_reply.h"
#include "daemon/front/status/facts.h"
#include "daemon/front/tuning.h"

struct http_routes;
struct live_request;
struct recorder;
struct stream;

// What describe_config tells: the values, the table of keys, the settings that differ from the
// file, or all settings with the place that each comes from.
enum control_config {
    CONTROL_CONFIG_VALUES,
    CONTROL_CONFIG_SCHEMA,
    CONTROL_CONFIG_SETTINGS,
    CONTROL_CONFIG_ALL
};

// What the server calls in the front; it g_free()s the texts that they return. `status` and
// `list_mounts` are front_status_text() and front_status_list_mounts(). `reload` loads the
// configuration again and returns the verdict as JSON. `refuse` is event_feed_refuse(), `tune` and
// `stop_tune` are tuning_begin() and tuning_stop(), `find_view` is front_status_find_view(),
// `view_status` front_status_views_text().
// `is_ready`: every camera can be served or has told its fault, or had its time to.
// `change_config` is live_change() and goes over to what it gives. `find_track` is tracks_find().
//
// Over TCP each role is shown only the cameras and views that it may watch; everyone who can open
// the control socket is shown all.
struct control_front {
    char *(*status)(void *context, enum facts_format format, enum config_role role);
    char *(*list_mounts)(void *context, enum config_role role);
    char *(*reload)(void *context);
    char *(*refuse)(void *context, enum config_role role, const char *camera, const char *region);
    int (*tune)(void *context, const struct tuning_request *request,
                const struct tuning_reader *reader, struct error *error);
    void (*stop_tune)(void *context);
    struct stream *(*find_view)(void *context, enum config_role role, const char *camera,
                                const char *view, char **ret_refusal);
    bool (*is_ready)(void *context);
    char *(*describe_config)(void *context, enum control_config what,
                             enum config_role role); // JSON
    void (*change_config)(void *context, struct live_request *request);
    char *(*view_status)(void *context, enum config_role role, const char *const *paths);
    struct recorder *recorder; // borrowed
    uint32_t (*find_track)(void *context, const char *camera);
    void *context;
};

// Where a browser on this machine finds the page.
struct http_page_address {
    char *url;        // "https://127.0.0.1:9854"; NULL: HTTP is not served over TCP
    bool is_loopback; // it is an address of this machine alone
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
    const struct http_page_address *page;
    const struct http_access *access;
    enum config_role role;                                     // what it may watch
    char parameters[HTTP_PARAMETERS_MAX][HTTP_PARAMETER_SIZE]; // of the path, in order
};

// The value of a name in the query, decoded; NULL: it is not there.
static inline const char *http_query(const struct http_call *call, const char *name)
{
    return MHD_lookup_connection_value(call->connection, MHD_GET_ARGUMENT_KIND, name);
}
