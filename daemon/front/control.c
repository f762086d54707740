// libmicrohttpd in its external epoll mode: its epoll fd and its next timeout make one GSource, so
// every callback runs on the main loop and sees the front between two events. The socket is ours
// from bind to unlink; libmicrohttpd closes the fd.
#include "daemon/front/control.h"

#include "daemon/descriptors.h"
#include "daemon/front/control_reply.h"
#include "daemon/front/control_socket.h"
#include "daemon/front/event_stream.h"
#include "daemon/front/status.h"
#include "daemon/log.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>

#define EVENTS_PATH "/v1/events"
#define RELOAD_PATH "/v1/reload"
#define CONTROL_CONNECTIONS_MAX 32u
#define CONTROL_MEMORY_BYTES ((size_t)16384) // a connection, its request line and headers included
#define CONTROL_TIMEOUT_S 5u
#define CONTROL_LAST_RUNS 8u // enough for an event and the end of a reply

struct control {
    struct control_front front;
    struct control_socket socket;
    struct event_stream *events; // owned
    struct MHD_Daemon *server;
    GSource *source;
};

struct control_source {
    GSource base;
    struct MHD_Daemon *server; // borrowed from the control
    void *tag;                 // of the epoll fd
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

static CONTROL_RESULT respond_page(struct control *control, struct MHD_Connection *connection,
                                   const struct page *page)
{
    _cleanup_(cleanup_snapshot) struct snapshot *snapshot = NULL;

    if (page->wants_snapshot) {
        snapshot = control->front.snapshot(control->front.context);
        if (!snapshot) {
            return control_refuse(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory");
        }
    }
    return control_reply(connection, MHD_HTTP_OK, page->content_type, page->text(snapshot));
}

static CONTROL_RESULT respond_events(struct control *control, struct MHD_Connection *connection)
{
    g_autofree char *refusal = control->front.refuse(
        control->front.context,
        MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "camera"),
        MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "region"));

    return refusal ? control_refuse(connection, MHD_HTTP_NOT_FOUND, refusal)
                   : event_stream_answer(control->events, connection);
}

// Called once with the headers, then with each piece of a body, then at the end of the request. An
// answer before the end closes the connection, so only what is refused is answered early.
static CONTROL_RESULT handle_request(void *context, struct MHD_Connection *connection,
                                     const char *url, const char *method, const char *version,
                                     const char *upload_data, size_t *upload_data_size,
                                     void **request)
{
    struct control *control = context;
    bool at_headers = !*request, reload = strcmp(url, RELOAD_PATH) == 0;
    bool reads =
        strcmp(method, MHD_HTTP_METHOD_GET) == 0 || strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;

    (void)version, (void)upload_data;
    *request = context;
    if (reload ? strcmp(method, MHD_HTTP_METHOD_POST) != 0 : !reads) {
        return control_refuse_method(connection, reload ? "POST" : "GET, HEAD");
    }
    if (at_headers || *upload_data_size > 0) {
        *upload_data_size = 0; // a body means nothing here
        return MHD_YES;
    }
    if (reload) {
        return control_reply(connection, MHD_HTTP_OK, "application/json",
                             control->front.reload(control->front.context));
    }
    if (strcmp(url, EVENTS_PATH) == 0) {
        return respond_events(control, connection);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(pages); i++) {
        if (strcmp(url, pages[i].path) == 0) {
            return respond_page(control, connection, &pages[i]);
        }
    }
    return control_refuse(
        connection, MHD_HTTP_NOT_FOUND,
        "no such page; allowed are /, /v1/status, /v1/events, /metrics and /v1/reload");
}

static gboolean source_prepare(GSource *base, int *ret_timeout_ms)
{
    struct control_source *source = (struct control_source *)base;
    MHD_UNSIGNED_LONG_LONG timeout_ms;

    if (MHD_get_timeout(source->server, &timeout_ms) != MHD_YES) {
        *ret_timeout_ms = -1;
        return FALSE;
    }
    *ret_timeout_ms = (int)MIN(timeout_ms, G_MAXINT);
    return timeout_ms == 0;
}

static gboolean source_check(GSource *base)
{
    struct control_source *source = (struct control_source *)base;
    int timeout_ms;

    return g_source_query_unix_fd(base, source->tag) != 0 || source_prepare(base, &timeout_ms);
}

static unsigned count_connections(struct MHD_Daemon *server)
{
    return MHD_get_daemon_info(server, MHD_DAEMON_INFO_CURRENT_CONNECTIONS)->num_connections;
}

// At its connection limit libmicrohttpd takes the listening socket out of the epoll set, and puts
// it back only when it next runs: whenever connections ended, it has to run once more.
static gboolean source_dispatch(GSource *base, GSourceFunc callback, void *context)
{
    struct control_source *source = (struct control_source *)base;
    unsigned before;

    (void)callback, (void)context;
    g_source_set_ready_time(base, -1);
    do {
        before = count_connections(source->server);
        MHD_run(source->server);
    } while (count_connections(source->server) < before);
    return G_SOURCE_CONTINUE;
}

static GSource *source_new(struct MHD_Daemon *server)
{
    static GSourceFuncs functions = {
        .prepare = source_prepare, .check = source_check, .dispatch = source_dispatch};
    GSource *base = g_source_new(&functions, sizeof(struct control_source));
    struct control_source *source = (struct control_source *)base;

    g_source_set_name(base, "control");
    source->server = server;
    source->tag = g_source_add_unix_fd(
        base, MHD_get_daemon_info(server, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, G_IO_IN);
    g_source_attach(base, NULL);
    return base;
}

static void on_wake(void *context)
{
    const struct control *control = context;

    g_source_set_ready_time(control->source, 0);
}

// What clients do wrong is theirs to hear, in the reply; here it helps only while debugging.
__attribute__((format(printf, 2, 0))) static void log_server(void *context, const char *format,
                                                             va_list arguments)
{
    char text[512];

    (void)context;
    vsnprintf(text, sizeof text, format, arguments);
    text[strcspn(text, "\n")] = 0;
    log_debug("control socket: %s", text);
}

int control_new(const char *path, const struct control_front *front, struct error *error,
                struct control **ret_control)
{
    struct control *control = calloc(1, sizeof *control);
    unsigned connections = (unsigned)CLAMP(descriptors_limit() / 32, 4, CONTROL_CONNECTIONS_MAX);
    int result;

    if (!control) {
        return error_set(error, -ENOMEM, "out of memory");
    }
    control->front = *front;
    result = control_socket_open(&control->socket, path, error);
    if (result < 0) {
        free(control);
        return result;
    }
    control->events = event_stream_new(on_wake, control);
    // A server that starts closes the fd in the end; one that does not start leaves it open.
    control->server = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL, handle_request,
        control, MHD_OPTION_EXTERNAL_LOGGER, log_server, NULL, MHD_OPTION_LISTEN_SOCKET,
        control->socket.fd, MHD_OPTION_CONNECTION_LIMIT, connections,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONTROL_MEMORY_BYTES, MHD_OPTION_CONNECTION_TIMEOUT,
        CONTROL_TIMEOUT_S, MHD_OPTION_END);
    if (!control->server) {
        close(control->socket.fd);
        control_free(control);
        return error_set(error, -EIO, "%s: the HTTP server does not start", path);
    }
    control->source = source_new(control->server);
    *ret_control = control;
    return 0;
}

// Lets readers of events hear the last of them, as far as their sockets take it; none may be left
// suspended.
static void end_connections(struct control *control)
{
    event_stream_close(control->events);
    for (unsigned run = 0; run < CONTROL_LAST_RUNS; run++) {
        MHD_run(control->server);
    }
}

void control_free(struct control *control)
{
    if (!control) {
        return;
    }
    control_socket_remove(&control->socket);
    if (control->server) {
        end_connections(control);
        MHD_stop_daemon(control->server);
    }
    if (control->source) {
        g_source_destroy(control->source);
        g_source_unref(control->source);
    }
    event_stream_free(control->events);
    free(control);
}

void control_publish(struct control *control, const struct motion_event *event)
{
    event_stream_publish(control->events, event);
}
