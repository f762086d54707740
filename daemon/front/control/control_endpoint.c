#include "daemon/front/control/control_endpoint.h"

#include "daemon/front/control/control_access.h"
#include "daemon/front/events/event_stream.h"

#include <glib.h>
#include <string.h>

#define EVENTS_PATH "/v1/events"
#define RELOAD_PATH "/v1/reload"
#define LAST_RUNS 8u // enough for an event and the end of a reply

// For so long a text is shown again, so that clients that ask without pause cost little.
#define FRESH_NS (200 * NS_PER_MS)

enum page_kind { PAGE_STATUS, PAGE_METRICS, PAGE_INDEX, PAGE_UNKNOWN, PAGE_COUNT };

struct control_endpoint {
    const struct control_front *front; // borrowed
    struct account *account;           // borrowed; NULL: nobody is asked
    bool encrypted;
    struct event_stream *events; // owned
    struct http_server *server;  // owned
    struct page_text {
        char *text; // owned; NULL: none yet
        int64_t made_ns;
    } texts[PAGE_COUNT][CONFIG_ROLE_COUNT];
};

static const char index_text[] = "edged " EDGED_VERSION "\n"
                                 "/v1/status  JSON: cameras, mounts, latency\n" EVENTS_PATH
                                 "  motion in regions, as it begins and ends (server-sent events)\n"
                                 "/metrics    the same for Prometheus\n" RELOAD_PATH
                                 "  POST: loads the configuration again, the verdict is JSON\n";

static const struct page {
    const char *path, *content_type;
} pages[PAGE_COUNT] = {
    [PAGE_STATUS] = {"/v1/status", "application/json"},
    [PAGE_METRICS] = {"/metrics", "text/plain; version=0.0.4; charset=utf-8"},
    [PAGE_INDEX] = {"/", "text/plain; charset=utf-8"},
};

static void forget_texts(struct control_endpoint *endpoint)
{
    for (unsigned page = 0; page < PAGE_COUNT; page++) {
        for (unsigned role = 0; role < CONFIG_ROLE_COUNT; role++) {
            g_clear_pointer(&endpoint->texts[page][role].text, g_free);
        }
    }
}

// What the client of an allowed request may watch.
static enum config_role role_of(const struct control_endpoint *endpoint,
                                const struct http_request *request)
{
    return endpoint->account ? account_role(endpoint->account, request->login) : CONFIG_ROLE_ADMIN;
}

static char *make_text(const struct control_front *front, enum page_kind page,
                       enum config_role role)
{
    if (page == PAGE_UNKNOWN) {
        g_autofree char *mounts = front->list_mounts(front->context, role);

        return g_strconcat("no such page; allowed are /, /v1/status, /v1/events, /metrics and "
                           "/v1/reload; streams are served by RTSP: ",
                           mounts, NULL);
    }
    return front->status(front->context, page == PAGE_STATUS ? FACTS_JSON : FACTS_METRICS, role);
}

// The page as `role` is shown it; borrowed. Without an account it is always made anew.
static const char *page_text(struct control_endpoint *endpoint, enum page_kind page,
                             enum config_role role)
{
    struct page_text *kept = &endpoint->texts[page][role];
    int64_t now_ns = clock_now_ns();

    if (page == PAGE_INDEX) {
        return index_text;
    }
    if (!endpoint->account || !kept->text || now_ns - kept->made_ns >= FRESH_NS) {
        g_free(kept->text);
        *kept = (struct page_text){make_text(endpoint->front, page, role), now_ns};
    }
    return kept->text;
}

static CONTROL_RESULT reply_page(struct control_endpoint *endpoint,
                                 const struct http_request *request, enum page_kind page)
{
    const char *text = page_text(endpoint, page, role_of(endpoint, request));

    return page == PAGE_UNKNOWN ? control_refuse(request->connection, MHD_HTTP_NOT_FOUND, text)
                                : control_reply(request->connection, MHD_HTTP_OK,
                                                pages[page].content_type, g_strdup(text));
}

static CONTROL_RESULT reply_events(const struct control_endpoint *endpoint,
                                   const struct http_request *request)
{
    struct MHD_Connection *connection = request->connection;
    enum config_role role = role_of(endpoint, request);
    g_autofree char *refusal = endpoint->front->refuse(
        endpoint->front->context, role,
        MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "camera"),
        MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "region"));

    return refusal ? control_refuse(connection, MHD_HTTP_NOT_FOUND, refusal)
                   : event_stream_answer(endpoint->events, connection, role);
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
    struct control_endpoint *endpoint = context;
    enum page_kind page = PAGE_STATUS;

    if (strcmp(request->path, RELOAD_PATH) == 0) {
        return control_reply(request->connection, MHD_HTTP_OK, "application/json",
                             endpoint->front->reload(endpoint->front->context));
    }
    if (strcmp(request->path, EVENTS_PATH) == 0) {
        return reply_events(endpoint, request);
    }
    while (page < PAGE_UNKNOWN && strcmp(request->path, pages[page].path) != 0) {
        page++;
    }
    return reply_page(endpoint, request, page);
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

void control_endpoint_recheck(struct control_endpoint *endpoint)
{
    forget_texts(endpoint);
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
    forget_texts(endpoint);
    g_free(endpoint);
}
