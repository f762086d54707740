#include "daemon/front/control/control_endpoint.h"

#include "daemon/front/control/control_access.h"
#include "daemon/front/events/event_stream.h"
#include "daemon/front/status/status.h"

#include <glib.h>
#include <string.h>

#define EVENTS_PATH "/v1/events"
#define RELOAD_PATH "/v1/reload"
#define LAST_RUNS 8u // enough for an event and the end of a reply

struct control_endpoint {
    const struct control_front *front; // borrowed
    struct account *account;           // borrowed; NULL: nobody is asked
    bool encrypted;
    struct event_stream *events; // owned
    struct http_server *server;  // owned
};

static char *index_text(const struct snapshot *snapshot)
{
    (void)snapshot;
    return g_strdup("edged " EDGED_VERSION "\n"
                    "/v1/status  JSON: cameras, mounts, latency\n" EVENTS_PATH
                    "  motion in regions, as it begins and ends (server-sent events)\n"
                    "/metrics    the same for Prometheus\n" RELOAD_PATH
                    "  POST: loads the configuration again, the verdict is JSON\n");
}

static const struct page {
    const char *path, *content_type;
    bool wants_snapshot;
    char *(*text)(const struct snapshot *snapshot);
} pages[] = {
    {"/v1/status", "application/json", true, status_json},
    {"/metrics", "text/plain; version=0.0.4; charset=utf-8", true, status_metrics},
    {"/", "text/plain; charset=utf-8", false, index_text},
};

static CONTROL_RESULT reply_page(const struct control_endpoint *endpoint,
                                 struct MHD_Connection *connection, const struct page *page)
{
    _cleanup_(cleanup_snapshot) struct snapshot *snapshot = NULL;

    if (page->wants_snapshot) {
        snapshot = endpoint->front->snapshot(endpoint->front->context);
        if (!snapshot) {
            return control_refuse(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory");
        }
    }
    return control_reply(connection, MHD_HTTP_OK, page->content_type, page->text(snapshot));
}

static CONTROL_RESULT reply_events(const struct control_endpoint *endpoint,
                                   struct MHD_Connection *connection)
{
    g_autofree char *refusal = endpoint->front->refuse(
        endpoint->front->context,
        MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "camera"),
        MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "region"));

    return refusal ? control_refuse(connection, MHD_HTTP_NOT_FOUND, refusal)
                   : event_stream_answer(endpoint->events, connection);
}

static CONTROL_RESULT refuse(void *context, const struct http_request *request, bool *ret_refused)
{
    const struct control_endpoint *endpoint = context;
    bool reload = strcmp(request->path, RELOAD_PATH) == 0;
    bool reads = strcmp(request->method, MHD_HTTP_METHOD_GET) == 0 ||
                 strcmp(request->method, MHD_HTTP_METHOD_HEAD) == 0;

    if (endpoint->account) {
        struct control_access access = {endpoint->account, endpoint->encrypted,
                                        reload ? CONFIG_ROLE_OPERATOR : CONFIG_ROLE_VIEWER};
        CONTROL_RESULT result = control_access_refuse(&access, request, ret_refused);

        if (*ret_refused) {
            return result;
        }
    }
    if (reload ? strcmp(request->method, MHD_HTTP_METHOD_POST) == 0 : reads) {
        return MHD_YES;
    }
    *ret_refused = true;
    return control_refuse_method(request->connection, reload ? "POST" : "GET, HEAD");
}

static CONTROL_RESULT reply(void *context, const struct http_request *request)
{
    const struct control_endpoint *endpoint = context;

    if (strcmp(request->path, RELOAD_PATH) == 0) {
        return control_reply(request->connection, MHD_HTTP_OK, "application/json",
                             endpoint->front->reload(endpoint->front->context));
    }
    if (strcmp(request->path, EVENTS_PATH) == 0) {
        return reply_events(endpoint, request->connection);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(pages); i++) {
        if (strcmp(request->path, pages[i].path) == 0) {
            return reply_page(endpoint, request->connection, &pages[i]);
        }
    }
    return control_refuse(
        request->connection, MHD_HTTP_NOT_FOUND,
        "no such page; allowed are /, /v1/status, /v1/events, /metrics and /v1/reload");
}

static void on_wake(void *context)
{
    const struct control_endpoint *endpoint = context;

    http_server_wake(endpoint->server);
}

int control_endpoint_new(const struct control_front *front, const struct event_feed *feed,
                         struct account *account, const struct http_server_settings *settings,
                         struct error *error, struct control_endpoint **ret_endpoint)
{
    struct control_endpoint *endpoint = g_new0(struct control_endpoint, 1);
    struct http_server_settings all = *settings;
    int r;

    endpoint->front = front;
    endpoint->account = account;
    endpoint->encrypted = settings->certificate;
    endpoint->events = event_stream_new(feed, on_wake, endpoint);
    all.handler = (struct http_handler){refuse, reply, endpoint};
    r = http_server_new(&all, error, &endpoint->server);
    if (r < 0) {
        control_endpoint_free(endpoint);
        return r;
    }
    *ret_endpoint = endpoint;
    return 0;
}

void control_endpoint_tell(const struct control_endpoint *endpoint)
{
    event_stream_tell(endpoint->events);
}

void control_endpoint_recheck(const struct control_endpoint *endpoint)
{
    http_server_hang_up_strangers(endpoint->server, endpoint->account, CONFIG_ROLE_VIEWER);
}

void control_endpoint_stop_listening(struct control_endpoint *endpoint)
{
    http_server_stop_listening(endpoint->server);
}

void control_endpoint_free(struct control_endpoint *endpoint)
{
    if (!endpoint) {
        return;
    }
    if (endpoint->server) {
        event_stream_close(endpoint->events);
        for (unsigned run = 0; run < LAST_RUNS; run++) {
            http_server_run(endpoint->server);
        }
        http_server_free(endpoint->server);
    }
    event_stream_free(endpoint->events);
    g_free(endpoint);
}
